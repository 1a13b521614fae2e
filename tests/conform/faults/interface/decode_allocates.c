// CONSORT-I-32: decode allocates the size in the wire
#define FAULT_DECODE_ALLOCATES
#include "body.h"
