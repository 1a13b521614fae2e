// CONSORT-D-84: release forgets the graph
#define FAULT_RELEASE_LEAKS
#include "body.h"
