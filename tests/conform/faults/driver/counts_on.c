// CONSORT-D-1: count answers more each time
#define FAULT_COUNTS_ON
#include "body.h"
