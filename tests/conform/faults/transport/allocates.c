// CONSORT-T-55: post allocates
#define FAULT_ALLOCATES
#include "body.h"
