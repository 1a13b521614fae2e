// CONSORT-D-3: a unit has no arch
#define FAULT_NO_ARCH
#include "body.h"
