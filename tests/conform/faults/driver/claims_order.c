// CONSORT-D-14: the queue says that it is in order, and reports as it comes
#define FAULT_CLAIMS_ORDER
#include "body.h"
