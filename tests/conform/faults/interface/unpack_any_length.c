// CONSORT-I-16: unpack writes bytes that it then refuses
#define FAULT_UNPACK_ANY_LENGTH
#include "body.h"
