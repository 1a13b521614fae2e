// CONSORT-D-19: times are those of the calendar
#define FAULT_OTHER_CLOCK
#include "body.h"
