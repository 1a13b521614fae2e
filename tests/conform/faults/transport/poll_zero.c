// CONSORT-T-17: poll of at most 0 answers 1
#define FAULT_POLL_ZERO
#include "body.h"
