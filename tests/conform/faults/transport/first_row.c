// CONSORT-T-36: only the first of several rows is compared with the region
#define FAULT_FIRST_ROW
#include "body.h"
