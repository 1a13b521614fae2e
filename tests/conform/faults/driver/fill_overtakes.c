// CONSORT-D-14: fills are made at once, before what was submitted earlier
#define FAULT_FILL_OVERTAKES
#include "body.h"
