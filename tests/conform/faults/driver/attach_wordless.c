// CONSORT-D-23: attach refuses without a word
#define FAULT_ATTACH_WORDLESS
#include "body.h"
