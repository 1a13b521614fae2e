// CONSORT-D-18: of an op's kind the low byte is looked at
#define FAULT_KIND_BYTE
#include "body.h"
