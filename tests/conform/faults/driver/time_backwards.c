// CONSORT-D-19: ops end before they begin
#define FAULT_TIME_BACKWARDS
#include "body.h"
