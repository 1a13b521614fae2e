// CONSORT-D-15: tickets are ignored
#define FAULT_NO_WAIT
#include "body.h"
