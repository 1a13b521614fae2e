// CONSORT-T-18: a CANCEL has a completion of its own
#define FAULT_CANCEL_ITSELF_ENDS
#include "body.h"
