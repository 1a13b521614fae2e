// CONSORT-D-71: queue_close forgets the descriptor
#define FAULT_LEAKS_QUEUE
#include "body.h"
