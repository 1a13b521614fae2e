// CONSORT-T-40: a peer that closes says nothing
#define FAULT_CLOSES_SILENTLY
#include "body.h"
