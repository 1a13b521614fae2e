// CONSORT-T-50: nothing is guarded
#define FAULT_UNLOCKED
#include "body.h"
