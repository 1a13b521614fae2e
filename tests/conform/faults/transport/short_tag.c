// CONSORT-T-10: tags are compared in their low 32 bits
#define FAULT_SHORT_TAG
#include "body.h"
