// CONSORT-P-1: a helper is exported, too
#include "body.h"

CONSORT_EXPORT int helper_of_wrong(void) { return 1; }
