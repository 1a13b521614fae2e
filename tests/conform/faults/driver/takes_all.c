// CONSORT-D-13: submit says that it took all, and dropped what it had no room for
#define FAULT_TAKES_ALL
#include "body.h"
