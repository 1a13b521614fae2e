// CONSORT-T-18: a receive that was cancelled stays where it is
#define FAULT_CANCEL_STAYS
#include "body.h"
