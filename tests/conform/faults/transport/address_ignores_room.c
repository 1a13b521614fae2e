// CONSORT-T-2: address writes a byte more than there is room for
#define FAULT_ADDRESS_IGNORES_ROOM
#include "body.h"
