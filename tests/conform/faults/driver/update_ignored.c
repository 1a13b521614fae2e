// CONSORT-D-83: update answers OK and changes nothing
#define FAULT_UPDATE_IGNORED
#include "body.h"
