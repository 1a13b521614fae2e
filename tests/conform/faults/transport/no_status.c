// CONSORT-T-4: connect refuses an address by -77, which is no status
#define REFUSED_STATUS -77
#include "body.h"
