// CONSORT-T-60: open loses its first block where the second is refused
#define FAULT_OPEN_LOSES
#include "body.h"
