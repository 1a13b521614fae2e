// CONSORT-D-13: after 60 ops there is no room any more
#define FAULT_FORGETS_ROOM
#include "body.h"
