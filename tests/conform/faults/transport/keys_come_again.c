// CONSORT-T-33: the number of a region is used again
#define FAULT_KEYS_COME_AGAIN
#include "body.h"
