// CONSORT-T-13: of a message that was cut the buffer's length is told
#define FAULT_CUT_LENGTH
#include "body.h"
