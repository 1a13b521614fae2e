// CONSORT-T-18: a CANCEL ends the oldest receive, not the one that it names
#define FAULT_CANCEL_FIRST
#include "body.h"
