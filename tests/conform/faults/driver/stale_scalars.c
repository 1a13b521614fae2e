// CONSORT-D-22: scalars are set at the first launch and not again
#define FAULT_STALE_SCALARS
#include "body.h"
