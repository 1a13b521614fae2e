// CONSORT-D-81: a launch is two ops of its queue
#define FAULT_LAUNCH_TWO
#include "body.h"
