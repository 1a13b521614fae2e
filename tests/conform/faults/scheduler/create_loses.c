// CONSORT-S-41, not found yet: create loses its first block where the second is refused
#define FAULT_CREATE_LOSES
#include "body.h"
