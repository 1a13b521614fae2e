// CONSORT-D-24: a copy is reported before its bytes are there
#define FAULT_EARLY
#include "body.h"
