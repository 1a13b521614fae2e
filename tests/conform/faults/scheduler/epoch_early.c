// CONSORT-S-31: push reads the epoch just before it takes the lock
#define FAULT_EPOCH_EARLY
#include "body.h"
