// CONSORT-S-34: push of more than 64 tasks sleeps
#define FAULT_SLEEPS_IN_LARGE
#include "body.h"
