// CONSORT-I-11: writes behind the end of the shape
#define FAULT_WRITES_PAST_SIZE
#include "body.h"
