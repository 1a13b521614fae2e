// CONSORT-D-41, not found yet: open loses its first block where the second is refused
#define FAULT_OPEN_LOSES
#include "body.h"
