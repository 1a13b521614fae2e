// CONSORT-D-5: blocks are aligned to 8 where the space says 64
#define FAULT_MISALIGNED
#include "body.h"
