// CONSORT-S-21: push does not show itself to quiesce
#define FAULT_PUSH_UNVISITED
#include "body.h"
