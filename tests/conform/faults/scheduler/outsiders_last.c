// CONSORT-S-14: tasks of outsiders wait as long as there are others
#define FAULT_OUTSIDERS_LAST
#include "body.h"
