// CONSORT-S-7: epochs are compared in their low 32 bits
#define FAULT_EPOCH_LOW_WORD
#include "body.h"
