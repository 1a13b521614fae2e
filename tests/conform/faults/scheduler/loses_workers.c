// CONSORT-S-8: an instance that was closed serves no worker when it is opened again
#define FAULT_LOSES_WORKERS
#include "body.h"
