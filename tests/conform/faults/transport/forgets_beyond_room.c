// CONSORT-T-17: messages beyond the room are taken and dropped
#define FAULT_FORGETS_BEYOND_ROOM
#include "body.h"
