// CONSORT-I-31: decode reads the byte behind the wire
#define FAULT_DECODE_READS_ON
#include "body.h"
