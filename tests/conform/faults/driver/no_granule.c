// CONSORT-D-2: a space has granule 0
#define FAULT_NO_GRANULE
#include "body.h"
