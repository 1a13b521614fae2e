// CONSORT-T-15: inline data are read when the receive arrives
#define FAULT_INLINE_LATE
#include "body.h"
