// CONSORT-I-20: the footprint is where the shape lies
#define FAULT_FOOTPRINT_OF_PLACE
#include "body.h"
