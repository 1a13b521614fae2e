// CONSORT-D-44: a lost device is told by its index
#define FAULT_LOST_NAMES_INDEX
#include "body.h"
