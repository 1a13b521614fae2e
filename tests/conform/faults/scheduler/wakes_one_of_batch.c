// CONSORT-S-10: a batch of tasks wakes one worker
#define FAULT_WAKES_ONE_OF_BATCH
#include "body.h"
