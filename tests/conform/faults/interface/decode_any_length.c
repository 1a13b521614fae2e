// CONSORT-I-31: decode does not look at the length of the wire
#define FAULT_DECODE_ANY_LENGTH
#include "body.h"
