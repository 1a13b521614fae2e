// CONSORT-P-5: a flag is set that nobody defined
#define FLAGS (CONSORT_PF_SWAPPABLE | 1 << 12)
#include "body.h"
