// CONSORT-D-84: a capture that is refused stays in memory
#define FAULT_CAPTURE_REFUSED_LEAKS
#include "body.h"
