// CONSORT-T-73: close waits for the answer of a peer that has closed
#define FAULT_CLOSES_SLOWLY
#include "body.h"
