// CONSORT-D-26, not found yet: copies of 1 MiB and more are reported before their bytes are there
#define FAULT_EARLY_MIB
#include "body.h"
