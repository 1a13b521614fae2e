// CONSORT-D-9: the target's steps are taken to be the source's
#define FAULT_ONE_STEP
#include "body.h"
