// CONSORT-T-15: what is inline is read when its receive is there
#define FAULT_INLINE_LATE
#include "body.h"
