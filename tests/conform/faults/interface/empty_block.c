// CONSORT-I-17: a block is empty
#define FAULT_EMPTY_BLOCK
#include "body.h"
