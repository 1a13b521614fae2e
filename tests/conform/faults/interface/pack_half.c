// CONSORT-I-16: pack writes into a buffer that it refuses
#define FAULT_PACK_HALF
#include "body.h"
