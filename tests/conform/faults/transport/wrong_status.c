// CONSORT-T-41: receives from a lost peer end with E_CANCELLED
#define LOST_STATUS CONSORT_E_CANCELLED
#include "body.h"
