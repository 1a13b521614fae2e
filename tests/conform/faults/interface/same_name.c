// CONSORT-I-2: two filters have one name
#define FAULT_SAME_NAME
#include "body.h"
