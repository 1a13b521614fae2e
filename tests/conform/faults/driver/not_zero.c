// CONSORT-D-6: of a large block only the first page is cleared
#define FAULT_NOT_ZERO
#include "body.h"
