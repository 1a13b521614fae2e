// CONSORT-D-13: a queue says that it takes nothing
#define FAULT_NO_QUEUE_DEPTH
#include "body.h"
