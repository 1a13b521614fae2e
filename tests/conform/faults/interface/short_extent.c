// CONSORT-I-13: the extent forgets the gaps
#define FAULT_SHORT_EXTENT
#include "body.h"
