// CONSORT-D-18: ops of unknown kinds end well
#define FAULT_ANY_KIND
#include "body.h"
