// CONSORT-D-85: check answers OK whatever a function answered
#define FAULT_CHECK_OK
#include "body.h"
