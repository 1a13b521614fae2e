// CONSORT-T-13: that a message was cut is not told
#define FAULT_CUT_SILENTLY
#include "body.h"
