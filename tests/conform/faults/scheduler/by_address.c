// CONSORT-S-60: the order depends on where tasks lie in memory
#define FAULT_BY_ADDRESS
#include "body.h"
