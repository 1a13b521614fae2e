// CONSORT-S-21, not found yet: quiesce ignores its deadline
#define FAULT_QUIESCE_FOR_EVER
#include "body.h"
