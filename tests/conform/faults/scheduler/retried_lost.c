// CONSORT-S-17: an urgent task that its worker pushes again is lost
#define FAULT_RETRIED_LOST
#include "body.h"
