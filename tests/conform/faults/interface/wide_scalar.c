// CONSORT-I-19: a scalar has 16 bytes
#define FAULT_WIDE_SCALAR
#include "body.h"
