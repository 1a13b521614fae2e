// CONSORT-S-50: destroy forgets a block of 64 KiB
#define FAULT_LEAKS_64K
#include "body.h"
