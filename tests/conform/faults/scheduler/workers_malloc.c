// CONSORT-S-41: workers does not look whether there is memory
#define FAULT_WORKERS_MALLOC
#include "body.h"
