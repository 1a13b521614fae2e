// CONSORT-D-25: queue_close drops what was copied last
#define FAULT_CLOSE_DROPS
#include "body.h"
