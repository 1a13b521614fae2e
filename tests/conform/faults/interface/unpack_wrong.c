// CONSORT-I-15: unpacks the lines in the wrong order
#define FAULT_UNPACK_WRONG
#include "body.h"
