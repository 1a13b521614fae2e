// CONSORT-T-40: the event comes before the ends of what was under way
#define FAULT_EVENT_FIRST
#include "body.h"
