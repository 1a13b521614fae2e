// CONSORT-I-15, not found yet: pack writes a byte behind what it packs
#define FAULT_PACK_LONG
#include "body.h"
