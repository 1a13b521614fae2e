// CONSORT-D-20: an error that a function answers becomes another one
#define FAULT_CALL_POSITIVE
#include "body.h"
