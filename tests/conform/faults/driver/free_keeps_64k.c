// CONSORT-D-72: free forgets blocks of exactly 64 KiB
#define FAULT_FREE_KEEPS_64K
#include "body.h"
