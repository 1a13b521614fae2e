// CONSORT-T-2: the address is another one each time
#define FAULT_ANOTHER_ADDRESS
#include "body.h"
