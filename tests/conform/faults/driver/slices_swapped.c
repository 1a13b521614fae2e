// CONSORT-D-9: steps of rows and slices are exchanged
#define FAULT_SLICES_SWAPPED
#include "body.h"
