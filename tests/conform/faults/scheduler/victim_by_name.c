// CONSORT-S-18: victim answers numbers of data for indices
#define FAULT_VICTIM_BY_NAME
#include "body.h"
