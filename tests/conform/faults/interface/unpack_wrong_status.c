// CONSORT-I-16: a wrong length is answered by a status that is no error
#define FAULT_UNPACK_WRONG_STATUS
#include "body.h"
