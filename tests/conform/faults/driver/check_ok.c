// CONSORT-D-85: check answers OK for each code of a function
#define FAULT_CHECK_OK
#include "body.h"
