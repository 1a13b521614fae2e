// CONSORT-D-8: a copy changes its source
#define FAULT_WRITES_SOURCE
#include "body.h"
