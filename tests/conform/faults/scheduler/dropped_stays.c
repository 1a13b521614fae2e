// CONSORT-S-15: dropped tasks stay in the list
#define FAULT_DROPPED_STAYS
#include "body.h"
