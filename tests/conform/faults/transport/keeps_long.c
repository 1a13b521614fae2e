// CONSORT-T-20: messages that nobody receives are copied, however long
#define FAULT_KEEPS_LONG
#include "body.h"
