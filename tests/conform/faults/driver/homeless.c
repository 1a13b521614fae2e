// CONSORT-D-3: units are at home in a space that is none
#define FAULT_HOMELESS
#include "body.h"
