// CONSORT-S-10: push names candidates, and that none of them is to be woken
#define FAULT_WAKES_NONE_OF_K
#include "body.h"
