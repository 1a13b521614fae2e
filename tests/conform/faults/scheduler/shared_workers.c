// CONSORT-S-16: instances share the list of workers that they serve
#define FAULT_SHARED_WORKERS
#include "body.h"
