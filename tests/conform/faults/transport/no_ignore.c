// CONSORT-T-10: ignore is a whole tag or nothing
#define FAULT_NO_IGNORE
#include "body.h"
