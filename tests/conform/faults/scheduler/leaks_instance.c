// CONSORT-S-50: destroy forgets something
#define FAULT_LEAK_INSTANCE
#include "body.h"
