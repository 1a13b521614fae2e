// CONSORT-D-61: links say that a copy takes four seconds
#define FAULT_LATENCY
#include "body.h"
