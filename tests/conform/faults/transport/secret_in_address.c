// CONSORT-T-6: the secret stands in the address
#define FAULT_SECRET_IN_ADDRESS
#include "body.h"
