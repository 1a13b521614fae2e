// CONSORT-S-50: destroy forgets something of an instance with more than 100 pushes of outsiders
#define FAULT_LEAKS_AFTER_100
#include "body.h"
