// CONSORT-D-15, not found yet: tickets of ops that failed are waited for for ever
#define FAULT_FAILED_IS_OPEN
#include "body.h"
