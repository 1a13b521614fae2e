// CONSORT-D-26: copies of several rows are reported before their bytes are there
#define FAULT_EARLY_ROWS
#include "body.h"
