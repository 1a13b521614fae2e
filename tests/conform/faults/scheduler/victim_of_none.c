// CONSORT-S-18: victim names a replica where there is none
#define FAULT_VICTIM_OF_NONE
#include "body.h"
