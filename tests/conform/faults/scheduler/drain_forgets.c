// CONSORT-S-6: drain forgets urgent tasks
#define FAULT_DRAIN_FORGETS
#include "body.h"
