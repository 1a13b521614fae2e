// CONSORT-T-32: the region is read from the key
#define FAULT_BELIEVES_KEY
#include "body.h"
