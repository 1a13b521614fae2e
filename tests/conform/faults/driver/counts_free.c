// CONSORT-D-1: count answers how many devices are not open
#define FAULT_COUNTS_FREE
#include "body.h"
