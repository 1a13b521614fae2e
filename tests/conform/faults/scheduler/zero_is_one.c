// CONSORT-S-4: pop of at most 0 tasks gives one
#define FAULT_ZERO_IS_ONE
#include "body.h"
