// CONSORT-D-35: submit sleeps a moment
#define FAULT_SUBMIT_SLEEPS
#include "body.h"
