// CONSORT-S-21, not found yet: push does not show itself to quiesce
#define FAULT_PUSH_UNVISITED
#include "body.h"
