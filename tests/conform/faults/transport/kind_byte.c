// CONSORT-T-19: of a message's kind the low byte is looked at
#define FAULT_KIND_BYTE
#include "body.h"
