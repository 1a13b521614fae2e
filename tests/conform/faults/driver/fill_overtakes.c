// CONSORT-D-14: fills run at once, before ops submitted earlier
#define FAULT_FILL_OVERTAKES
#include "body.h"
