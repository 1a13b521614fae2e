// CONSORT-D-18: a copy after an op of an unknown kind is not made
#define FAULT_UNKNOWN_HARMS
#include "body.h"
