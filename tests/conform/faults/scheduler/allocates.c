// CONSORT-S-35: push allocates
#define FAULT_ALLOCATES
#include "body.h"
