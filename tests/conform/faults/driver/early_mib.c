// CONSORT-D-26: copies of 1 MiB and more are reported before their bytes are there
#define FAULT_EARLY_MIB
#include "body.h"
