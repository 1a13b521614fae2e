// CONSORT-T-70: close does not free
#define FAULT_LEAKS_RANK
#include "body.h"
