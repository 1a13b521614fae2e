// CONSORT-S-50: destroy forgets a block of 1 MiB
#define FAULT_LEAKS_MIB
#include "body.h"
