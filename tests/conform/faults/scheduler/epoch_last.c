// CONSORT-S-31, not found yet: drain sets the epoch after it has given all back
#define FAULT_EPOCH_LAST
#include "body.h"
