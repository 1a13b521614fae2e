// CONSORT-D-23: attach answers the address without its off part
#define FAULT_ATTACH_FORGETS_OFF
#include "body.h"
