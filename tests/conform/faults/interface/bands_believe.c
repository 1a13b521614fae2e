// CONSORT-I-44: count takes parameters of which the children cannot be made
#define FAULT_BANDS_BELIEVE
#include "body.h"
