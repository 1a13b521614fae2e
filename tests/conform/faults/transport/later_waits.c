// CONSORT-T-40: a later receive from a lost peer waits for ever
#define FAULT_LATER_WAITS
#include "body.h"
