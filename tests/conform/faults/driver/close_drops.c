// CONSORT-D-25: queue_close drops the last copies
#define FAULT_CLOSE_DROPS
#include "body.h"
