// CONSORT-I-17: a block is aligned to 48
#define FAULT_BLOCK_ALIGN
#include "body.h"
