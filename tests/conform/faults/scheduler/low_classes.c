// CONSORT-S-2: of where the low 32 bits are looked at
#define FAULT_LOW_CLASSES
#include "body.h"
