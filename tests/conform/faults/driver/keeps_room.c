// CONSORT-D-45: free forgets to give the room back
#define FAULT_KEEPS_ROOM
#include "body.h"
