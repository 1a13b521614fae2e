// CONSORT-T-17: post says that it took all, whatever it did
#define FAULT_SAYS_ALL
#include "body.h"
