// CONSORT-S-34: each 256th pop sleeps
#define FAULT_SLEEPS_RARELY
#include "body.h"
