// CONSORT-D-15: tickets of ops that failed are waited for for ever
#define FAULT_FAILED_IS_OPEN
#include "body.h"
