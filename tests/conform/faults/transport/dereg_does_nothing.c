// CONSORT-T-33: dereg leaves the region where it is
#define FAULT_DEREG_DOES_NOTHING
#include "body.h"
