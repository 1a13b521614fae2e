// CONSORT-D-85: each library there may be is known
#define FAULT_LIBRARY_ANY
#include "body.h"
