// CONSORT-S-41: create does not look whether there is memory
#define FAULT_MALLOC
#include "body.h"
