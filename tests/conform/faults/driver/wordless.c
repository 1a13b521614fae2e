// CONSORT-D-7: alloc refuses without a word
#define FAULT_WORDLESS
#include "body.h"
