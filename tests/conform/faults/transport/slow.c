// CONSORT-T-90: post computes for milliseconds
#define FAULT_SLOW
#include "body.h"
