// CONSORT-T-17: post takes a batch as a whole or not at all
#define FAULT_ALL_OR_NOTHING
#include "body.h"
