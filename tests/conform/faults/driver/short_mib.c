// CONSORT-D-8: a copy of a byte less than 1 MiB lacks its last one
#define FAULT_SHORT_MIB
#include "body.h"
