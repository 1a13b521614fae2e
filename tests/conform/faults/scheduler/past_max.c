// CONSORT-S-4: pop writes one pick more than it was given room for
#define FAULT_PAST_MAX
#include "body.h"
