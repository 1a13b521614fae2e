// CONSORT-T-54: post asks for a parameter
#define FAULT_PARAM_IN_POST
#include "body.h"
