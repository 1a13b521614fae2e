// CONSORT-T-5: as much of the secret is compared as the shorter one has
#define FAULT_SECRET_PREFIX
#include "body.h"
