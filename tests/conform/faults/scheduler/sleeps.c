// CONSORT-S-34: pop sleeps
#define FAULT_SLEEPS
#include "body.h"
