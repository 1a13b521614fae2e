// CONSORT-T-60: open does not look whether there was memory
#define FAULT_MALLOC_UNCHECKED
#include "body.h"
