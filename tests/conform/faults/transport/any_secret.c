// CONSORT-T-5: the secret is not asked for
#define FAULT_ANY_SECRET
#include "body.h"
