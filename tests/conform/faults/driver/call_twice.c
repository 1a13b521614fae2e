// CONSORT-D-20: functions are called twice
#define FAULT_CALL_TWICE
#include "body.h"
