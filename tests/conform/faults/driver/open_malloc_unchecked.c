// CONSORT-D-41: open does not look whether malloc gave something
#define FAULT_OPEN_MALLOC
#include "body.h"
