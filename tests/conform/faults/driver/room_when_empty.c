// CONSORT-D-13: places are used again when all are free, not before
#define FAULT_ROOM_WHEN_EMPTY
#include "body.h"
