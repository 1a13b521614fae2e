// CONSORT-T-34: a PUT that failed notifies
#define FAULT_NOTIFIES_FAILED
#include "body.h"
