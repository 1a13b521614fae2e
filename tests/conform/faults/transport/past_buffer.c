// CONSORT-T-13: a longer message is written past the end of its buffer
#define FAULT_PAST_BUFFER
#include "body.h"
