// CONSORT-I-14: the source is read by the steps of the target
#define FAULT_SOURCE_STEP_OF_TARGET
#include "body.h"
