// CONSORT-D-40: open does not look whether host->alloc gave something
#define FAULT_OPEN_HOST
#include "body.h"
