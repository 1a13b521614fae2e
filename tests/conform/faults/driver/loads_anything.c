// CONSORT-D-21: kernels of any format are loaded, it says
#define FAULT_LOADS_ANYTHING
#include "body.h"
