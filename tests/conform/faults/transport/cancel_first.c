// CONSORT-T-18: a CANCEL ends the oldest receive, whatever it names
#define FAULT_CANCEL_FIRST
#include "body.h"
