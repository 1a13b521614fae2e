// CONSORT-D-10: one row's bytes are reported for all
#define FAULT_NO_BYTES
#include "body.h"
