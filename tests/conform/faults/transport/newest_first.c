// CONSORT-T-11: the newest message that matches is taken
#define FAULT_NEWEST_FIRST
#include "body.h"
