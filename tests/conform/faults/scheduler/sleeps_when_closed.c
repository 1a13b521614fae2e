// CONSORT-S-34: push sleeps where it is refused
#define FAULT_SLEEPS_WHEN_CLOSED
#include "body.h"
