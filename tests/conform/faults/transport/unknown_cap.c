// CONSORT-T-1: open sets a flag that means nothing
#define FAULT_UNKNOWN_CAP
#include "body.h"
