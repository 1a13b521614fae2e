// CONSORT-D-4: a link says now that it takes slices, now that it does not
#define FAULT_LINK_FLIPS
#include "body.h"
