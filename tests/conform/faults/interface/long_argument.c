// CONSORT-I-19: an argument may be touched beyond the datum
#define FAULT_LONG_ARGUMENT
#include "body.h"
