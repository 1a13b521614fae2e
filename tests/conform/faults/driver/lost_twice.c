// CONSORT-D-44: a lost device is told again with each op
#define FAULT_LOST_TWICE
#include "body.h"
