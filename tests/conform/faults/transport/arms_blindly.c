// CONSORT-T-52: arm does not look whether there is something
#define FAULT_ARMS_BLINDLY
#include "body.h"
