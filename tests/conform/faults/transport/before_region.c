// CONSORT-T-31: a PUT may begin before its region
#define FAULT_BEFORE_REGION
#include "body.h"
