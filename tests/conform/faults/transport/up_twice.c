// CONSORT-T-3: a peer is up twice
#define FAULT_UP_TWICE
#include "body.h"
