// CONSORT-T-14: a message of 64 KiB lacks its last byte
#define FAULT_SHORT_64K
#include "body.h"
