// CONSORT-T-14: of messages of 4097 bytes the last one is lost
#define FAULT_LAST_BYTE
#include "body.h"
