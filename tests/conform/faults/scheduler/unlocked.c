// CONSORT-S-30: the lists and their counter are changed without a lock
#define FAULT_UNLOCKED
#include "body.h"
