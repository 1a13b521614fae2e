// CONSORT-S-1: of a batch of more than 1000 tasks the last is lost
#define FAULT_LOSES_IN_LARGE
#include "body.h"
