// CONSORT-I-32: decode takes memory by what the wire says
#define FAULT_DECODE_ALLOCATES
#include "body.h"
