// CONSORT-T-17: post reports all ops as taken, even if it took fewer
#define FAULT_SAYS_ALL
#include "body.h"
