// CONSORT-D-21: formats are compared as far as the known one goes
#define FAULT_FORMAT_PREFIX
#include "body.h"
