// CONSORT-T-10, not found yet: bits that the sender's message ignores are ignored, too
#define FAULT_IGNORE_OF_BOTH
#include "body.h"
