// CONSORT-I-19: an argument is of an unknown kind
#define FAULT_ARGUMENT_KIND
#include "body.h"
