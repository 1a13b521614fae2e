// CONSORT-D-2: space() writes behind the description
#define FAULT_PAST_SIZE
#include "body.h"
