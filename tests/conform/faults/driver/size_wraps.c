// CONSORT-D-7: bytes are rounded up past 2^64
#define FAULT_SIZE_WRAPS
#include "body.h"
