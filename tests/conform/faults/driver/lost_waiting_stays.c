// CONSORT-D-43: ops that wait for tickets are not given back by a lost device
#define FAULT_LOST_WAITING_STAYS
#include "body.h"
