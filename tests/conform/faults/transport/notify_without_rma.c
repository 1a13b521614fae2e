// CONSORT-T-1: open says NOTIFY and not RMA
#define FAULT_NOTIFY_WITHOUT_RMA
#include "body.h"
