// CONSORT-S-19: of tasks that no worker can run 32 are kept
#define FAULT_UNRUNNABLE_DROPPED
#include "body.h"
