// CONSORT-T-35: notifications beyond 500 are dropped
#define FAULT_DROPS_NOTES
#include "body.h"
