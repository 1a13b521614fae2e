// CONSORT-T-4: connect takes an address of any length
#define FAULT_ANY_ADDRESS
#include "body.h"
