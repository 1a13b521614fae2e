// CONSORT-S-50: destroy forgets each seventh instance
#define FAULT_LEAKS_SEVENTH
#include "body.h"
