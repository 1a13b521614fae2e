// CONSORT-D-45: the room of blocks of exactly 64 KiB does not come back
#define FAULT_KEEPS_ROOM_64K
#include "body.h"
