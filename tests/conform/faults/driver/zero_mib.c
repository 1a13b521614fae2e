// CONSORT-D-6, not found yet: what is behind the first MiB of a block is not cleared
#define FAULT_ZERO_MIB
#include "body.h"
