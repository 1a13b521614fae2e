// CONSORT-S-21: quiesce answers OK at once, whoever is inside
#define FAULT_QUIESCE_AT_ONCE
#include "body.h"
