// CONSORT-D-17: the last bytes of a fill are left out
#define FAULT_FILL_WORDS
#include "body.h"
