// CONSORT-S-2: where is ignored
#define FAULT_ANY_WHERE
#include "body.h"
