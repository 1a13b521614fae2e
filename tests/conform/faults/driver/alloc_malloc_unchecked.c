// CONSORT-D-41: alloc does not look whether malloc gave something
#define FAULT_ALLOC_MALLOC
#include "body.h"
