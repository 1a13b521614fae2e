// CONSORT-D-8: a copy of 63 bytes lacks its last one
#define FAULT_SHORT_63
#include "body.h"
