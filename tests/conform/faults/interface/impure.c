// CONSORT-I-50: a counter changes the answer
#define FAULT_IMPURE
#include "body.h"
