// CONSORT-D-6: bytes behind the first MiB of a block are not cleared
#define FAULT_ZERO_MIB
#include "body.h"
