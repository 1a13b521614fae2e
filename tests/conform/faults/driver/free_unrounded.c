// CONSORT-D-45, not found yet: free gives fewer bytes back than alloc took
#define FAULT_FREE_UNROUNDED
#include "body.h"
