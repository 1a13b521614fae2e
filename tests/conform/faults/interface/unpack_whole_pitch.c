// CONSORT-I-15: unpack changes a byte in each gap
#define FAULT_UNPACK_WHOLE_PITCH
#include "body.h"
