// CONSORT-D-60: poll computes for a while
#define FAULT_SLOW
#include "body.h"
