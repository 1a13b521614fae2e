// CONSORT-S-41: create loses its first block where the second is refused
#define FAULT_CREATE_LOSES
#include "body.h"
