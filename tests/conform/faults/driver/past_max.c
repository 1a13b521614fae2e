// CONSORT-D-12: poll answers one more than it was asked for
#define FAULT_PAST_MAX
#include "body.h"
