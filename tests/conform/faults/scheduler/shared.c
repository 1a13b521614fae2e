// CONSORT-S-16: all instances share one list
#define FAULT_SHARED
#include "body.h"
