// CONSORT-S-5: push changes the priority of a task
#define FAULT_WRITES_TASK
#include "body.h"
