// CONSORT-S-21: quiesce ignores its deadline
#define FAULT_QUIESCE_FOR_EVER
#include "body.h"
