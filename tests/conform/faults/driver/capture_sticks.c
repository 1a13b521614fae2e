// CONSORT-D-82: the queue goes on recording after a capture that was refused
#define FAULT_CAPTURE_STICKS
#include "body.h"
