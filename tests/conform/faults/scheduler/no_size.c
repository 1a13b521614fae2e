// CONSORT-P-6: the table of functions has no size
#define FAULT_NO_SIZE
#include "body.h"
