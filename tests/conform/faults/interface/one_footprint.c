// CONSORT-I-20: all data are of one size class
#define FAULT_ONE_FOOTPRINT
#include "body.h"
