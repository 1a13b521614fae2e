// CONSORT-T-3: the event names the rank that is told, not its peer
#define FAULT_UP_OF_SELF
#include "body.h"
