// CONSORT-S-14: the newest comes first, always
#define FAULT_NEWEST_FIRST
#include "body.h"
