// CONSORT-T-15: an inline message of max_inline bytes is read when its receive is there
#define FAULT_INLINE_FULL_LATE
#include "body.h"
