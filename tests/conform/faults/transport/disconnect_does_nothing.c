// CONSORT-T-42: disconnect does nothing
#define FAULT_DISCONNECT_DOES_NOTHING
#include "body.h"
