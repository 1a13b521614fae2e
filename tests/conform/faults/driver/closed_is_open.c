// CONSORT-D-15: tickets of a closed queue are waited for for ever
#define FAULT_CLOSED_IS_OPEN
#include "body.h"
