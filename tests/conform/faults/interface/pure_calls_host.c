// CONSORT-I-51: a pure function logs
#define FAULT_PURE_CALLS_HOST
#include "body.h"
