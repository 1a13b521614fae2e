// CONSORT-I-32: decode takes sizes that run over
#define FAULT_DECODE_BELIEVES
#include "body.h"
