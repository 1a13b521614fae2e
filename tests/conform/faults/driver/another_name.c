// CONSORT-D-2: a space has another name each time
#define FAULT_ANOTHER_NAME
#include "body.h"
