// CONSORT-P-5: an undefined flag is set
#define FLAGS (CONSORT_PF_SWAPPABLE | 1 << 12)
#include "body.h"
