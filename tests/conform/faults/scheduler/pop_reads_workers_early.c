// CONSORT-S-36: pop reads whether its worker is served before it shows itself to quiesce
#define FAULT_POP_READS_WORKERS_EARLY
#include "body.h"
