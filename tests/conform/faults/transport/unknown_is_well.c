// CONSORT-T-19: a message of unknown kind ends well
#define FAULT_UNKNOWN_IS_WELL
#include "body.h"
