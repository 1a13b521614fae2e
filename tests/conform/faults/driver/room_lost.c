// CONSORT-D-47: an alloc for which the machine has no memory takes room of the device
#define FAULT_ROOM_LOST
#include "body.h"
