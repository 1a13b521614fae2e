// CONSORT-T-16: the end of a SEND of 77 bytes is told twice
#define FAULT_TWICE
#include "body.h"
