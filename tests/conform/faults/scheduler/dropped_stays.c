// CONSORT-S-15: what is dropped stays in the list
#define FAULT_DROPPED_STAYS
#include "body.h"
