// CONSORT-I-31, not found yet: decode reads the byte behind the wire
#define FAULT_DECODE_READS_ON
#include "body.h"
