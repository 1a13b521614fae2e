// CONSORT-S-9: a worker that was taken away and added again gets nothing
#define FAULT_GONE_FOR_EVER
#include "body.h"
