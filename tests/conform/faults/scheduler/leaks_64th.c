// CONSORT-S-51: each 64th push leaks
#define FAULT_LEAKS_64TH
#include "body.h"
