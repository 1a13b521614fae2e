// CONSORT-S-33: a push to an empty instance asks for a service
#define FAULT_GET_IN_FIRST_PUSH
#include "body.h"
