// CONSORT-D-2: a space has no domain
#define FAULT_NO_DOMAIN
#include "body.h"
