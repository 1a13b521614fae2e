// CONSORT-D-60: submit computes for a while
#define FAULT_SLOW_SUBMIT
#include "body.h"
