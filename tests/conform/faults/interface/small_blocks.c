// CONSORT-I-17: the block is too small for the datum
#define FAULT_SMALL_BLOCKS
#include "body.h"
