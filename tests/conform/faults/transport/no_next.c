// CONSORT-T-82: next_event knows of nothing
#define FAULT_NO_NEXT
#include "body.h"
