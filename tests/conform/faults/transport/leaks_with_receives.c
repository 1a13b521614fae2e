// CONSORT-T-71: a rank with receives is not freed
#define FAULT_LEAKS_WITH_RECEIVES
#include "body.h"
