// CONSORT-D-80: what is recorded runs at the capture, too
#define FAULT_CAPTURE_RUNS
#include "body.h"
