// CONSORT-I-13: an extent begins after the first byte
#define FAULT_EXTENT_LATE
#include "body.h"
