// CONSORT-T-30: a long GET lacks its last byte
#define FAULT_GET_SHORT
#include "body.h"
