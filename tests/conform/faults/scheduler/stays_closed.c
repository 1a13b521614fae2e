// CONSORT-S-8: a closed instance cannot be opened again
#define FAULT_STAYS_CLOSED
#include "body.h"
