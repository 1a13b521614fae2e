// CONSORT-D-47: an alloc that is refused takes room of the device
#define FAULT_ROOM_LOST_REFUSED
#include "body.h"
