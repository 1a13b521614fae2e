// CONSORT-D-72: free forgets blocks of 1 MiB and more
#define FAULT_FREE_KEEPS_MIB
#include "body.h"
