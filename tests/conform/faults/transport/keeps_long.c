// CONSORT-T-20: messages without a receive are copied, of any length
#define FAULT_KEEPS_LONG
#include "body.h"
