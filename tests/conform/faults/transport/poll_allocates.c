// CONSORT-T-55: poll allocates
#define FAULT_POLL_ALLOCATES
#include "body.h"
