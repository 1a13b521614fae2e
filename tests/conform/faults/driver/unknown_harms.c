// CONSORT-D-18, not found yet: a copy after an op of an unknown kind is not made
#define FAULT_UNKNOWN_HARMS
#include "body.h"
