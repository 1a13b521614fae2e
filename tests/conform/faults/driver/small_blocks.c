// CONSORT-D-5: blocks overlap by their last bytes
#define FAULT_SMALL_BLOCKS
#include "body.h"
