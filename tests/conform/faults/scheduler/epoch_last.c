// CONSORT-S-31: drain sets the epoch after it has given all back
#define FAULT_EPOCH_LAST
#include "body.h"
