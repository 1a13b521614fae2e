// CONSORT-D-85: each function of any library is found
#define FAULT_SYMBOL_ANY
#include "body.h"
