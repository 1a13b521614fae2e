// CONSORT-S-61: pop asks the system for the time
#define FAULT_OWN_CLOCK
#include "body.h"
