// CONSORT-D-13: submit takes the whole batch or nothing
#define FAULT_ALL_OR_NOTHING
#include "body.h"
