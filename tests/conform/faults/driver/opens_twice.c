// CONSORT-D-1: a device can be opened twice in all
#define FAULT_OPENS_TWICE
#include "body.h"
