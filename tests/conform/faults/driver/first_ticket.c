// CONSORT-D-15, not found yet: of several tickets the first alone is waited for
#define FAULT_FIRST_TICKET
#include "body.h"
