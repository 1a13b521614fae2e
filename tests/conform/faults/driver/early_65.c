// CONSORT-D-26: copies of 65 bytes are reported before their bytes are there
#define FAULT_EARLY_65
#include "body.h"
