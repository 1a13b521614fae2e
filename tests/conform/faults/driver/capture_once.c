// CONSORT-D-80: later launches of a graph do nothing
#define FAULT_CAPTURE_ONCE
#include "body.h"
