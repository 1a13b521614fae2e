// CONSORT-T-52: the end of a receive does not make the descriptor readable
#define FAULT_NO_WAKE
#include "body.h"
