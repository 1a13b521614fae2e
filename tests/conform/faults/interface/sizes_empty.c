// CONSORT-I-22: a dimension without elements in a datum with bytes
#define FAULT_SIZES_EMPTY
#include "body.h"
