// CONSORT-D-45: free gives fewer bytes back than alloc took
#define FAULT_FREE_UNROUNDED
#include "body.h"
