// CONSORT-D-2: space() ends with another error than E_INVAL
#define FAULT_SPACE_UNSUPPORTED
#include "body.h"
