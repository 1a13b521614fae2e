// CONSORT-D-26, not found yet: copies of several rows are reported before their bytes are there
#define FAULT_EARLY_ROWS
#include "body.h"
