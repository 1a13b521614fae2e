// CONSORT-I-43: there is a child beyond the last
#define FAULT_ANY_CHILD
#include "body.h"
