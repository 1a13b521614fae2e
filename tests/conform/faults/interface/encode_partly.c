// CONSORT-I-10: encode writes a byte more than there is room for
#define FAULT_ENCODE_PARTLY
#include "body.h"
