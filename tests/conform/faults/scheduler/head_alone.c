// CONSORT-S-3: pop looks at the head of the list alone
#define FAULT_HEAD_ALONE
#include "body.h"
