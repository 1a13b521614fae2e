// CONSORT-D-34: arm says E_BUSY for ever once there was something
#define FAULT_BUSY_STICKS
#include "body.h"
