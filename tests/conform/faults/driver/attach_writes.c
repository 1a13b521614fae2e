// CONSORT-D-23: attach clears the first byte
#define FAULT_ATTACH_WRITES
#include "body.h"
