// CONSORT-S-9: workers that were taken away are served on
#define FAULT_KEEPS_WORKERS
#include "body.h"
