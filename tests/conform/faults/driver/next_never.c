// CONSORT-D-50: next_event knows of nothing
#define VIRTUAL
#define FAULT_NEVER
#include "body.h"
