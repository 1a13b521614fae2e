// CONSORT-D-80: recorded ops run at the capture, too
#define FAULT_CAPTURE_RUNS
#include "body.h"
