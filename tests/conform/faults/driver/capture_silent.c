// CONSORT-D-82: an op that cannot be captured is left out in silence
#define FAULT_CAPTURE_SILENT
#include "body.h"
