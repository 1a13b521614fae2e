// CONSORT-T-30: a PUT or GET of a whole region is refused
#define FAULT_WHOLE_REGION
#include "body.h"
