// CONSORT-S-60: a global counter decides, which goes on from one run to the next
#define FAULT_REMEMBERS
#include "body.h"
