// CONSORT-D-22: of a grid the first dimension alone is computed
#define FAULT_ONE_DIMENSION
#include "body.h"
