// CONSORT-D-61: links say that they carry a thousand bytes per second
#define FAULT_BANDWIDTH
#include "body.h"
