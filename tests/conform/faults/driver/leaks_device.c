// CONSORT-D-70: close forgets the memory of the device
#define FAULT_LEAKS_DEVICE
#include "body.h"
