// CONSORT-T-17: poll writes behind its places
#define FAULT_PAST_MAX
#include "body.h"
