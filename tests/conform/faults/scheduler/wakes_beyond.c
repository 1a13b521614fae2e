// CONSORT-S-4: push sets the bit behind the last worker's
#define FAULT_WAKES_BEYOND
#include "body.h"
