// CONSORT-D-15: of several tickets the first alone is waited for
#define FAULT_FIRST_TICKET
#include "body.h"
