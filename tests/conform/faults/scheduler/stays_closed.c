// CONSORT-S-8: what was closed cannot be opened again
#define FAULT_STAYS_CLOSED
#include "body.h"
