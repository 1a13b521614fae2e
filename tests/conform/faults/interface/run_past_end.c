// CONSORT-I-12: the last line is written behind the end
#define FAULT_RUN_PAST_END
#include "body.h"
