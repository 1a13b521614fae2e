// CONSORT-D-6: what is behind the first MiB of a block is not cleared
#define FAULT_ZERO_MIB
#include "body.h"
