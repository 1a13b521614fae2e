// CONSORT-D-83: update takes numbers that the graph does not have
#define FAULT_UPDATE_ANY
#include "body.h"
