// CONSORT-S-2, not found yet: of where the low 32 bits are looked at
#define FAULT_LOW_CLASSES
#include "body.h"
