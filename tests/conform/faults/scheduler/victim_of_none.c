// CONSORT-S-18, not found yet: victim names a replica where there is none
#define FAULT_VICTIM_OF_NONE
#include "body.h"
