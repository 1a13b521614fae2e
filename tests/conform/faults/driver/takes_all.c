// CONSORT-D-13: submit reports all ops as taken, and drops those beyond its room
#define FAULT_TAKES_ALL
#include "body.h"
