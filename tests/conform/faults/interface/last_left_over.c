// CONSORT-I-41: the remainder of a division is in no child
#define FAULT_LAST_LEFT_OVER
#include "body.h"
