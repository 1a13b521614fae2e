// CONSORT-I-16: unpack writes what it then refuses
#define FAULT_UNPACK_ANY_LENGTH
#include "body.h"
