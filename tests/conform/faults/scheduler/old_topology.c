// CONSORT-S-9: the topology of create is used after workers() was given another
#define FAULT_OLD_TOPOLOGY
#include "body.h"
