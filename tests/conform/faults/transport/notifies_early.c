// CONSORT-T-34: a notification comes before its bytes
#define FAULT_NOTIFIES_EARLY
#include "body.h"
