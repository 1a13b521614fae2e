// CONSORT-I-21: a text that was cut has no end
#define FAULT_DESCRIBE_UNENDED
#include "body.h"
