// CONSORT-P-51: the device's thread asks for a parameter
#define FAULT_PARAM_IN_THREAD
#include "body.h"
