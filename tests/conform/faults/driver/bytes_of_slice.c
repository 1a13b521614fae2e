// CONSORT-D-10: one slice's bytes are reported for all
#define FAULT_BYTES_OF_SLICE
#include "body.h"
