// CONSORT-S-70: a push takes a long time
#define FAULT_SLOW
#include "body.h"
