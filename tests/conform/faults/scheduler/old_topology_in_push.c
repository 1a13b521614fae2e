// CONSORT-S-9: push looks into the topology of create after workers() was given another
#define FAULT_OLD_TOPOLOGY_IN_PUSH
#include "body.h"
