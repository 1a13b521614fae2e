// CONSORT-T-71, not found yet: a rank with receives is not freed
#define FAULT_LEAKS_WITH_RECEIVES
#include "body.h"
