// CONSORT-S-2: classes are compared modulo 8
#define FAULT_EIGHT_CLASSES
#include "body.h"
