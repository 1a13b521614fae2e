// CONSORT-D-36: submit asks for a parameter
#define FAULT_PARAM_IN_SUBMIT
#include "body.h"
