// CONSORT-D-11: now and then an op is reported again
#define FAULT_TWICE
#include "body.h"
