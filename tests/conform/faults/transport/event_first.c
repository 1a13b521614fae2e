// CONSORT-T-40: the event comes before the ends of pending transfers
#define FAULT_EVENT_FIRST
#include "body.h"
