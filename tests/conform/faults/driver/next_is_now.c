// CONSORT-D-50: next_event answers the present while anything is in flight
#define VIRTUAL
#define FAULT_NEXT_IS_NOW
#include "body.h"
