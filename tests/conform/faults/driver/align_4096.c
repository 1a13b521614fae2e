// CONSORT-D-5: alloc ignores alignments above 4096
#define FAULT_ALIGN_4096
#include "body.h"
