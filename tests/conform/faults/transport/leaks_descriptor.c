// CONSORT-T-70: open leaves a descriptor open
#define FAULT_LEAKS_DESCRIPTOR
#include "body.h"
