// CONSORT-S-21: quiesce answers OK at once, while calls are inside
#define FAULT_QUIESCE_AT_ONCE
#include "body.h"
