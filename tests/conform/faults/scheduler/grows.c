// CONSORT-S-51, not found yet: each push keeps a note until destroy
#define FAULT_GROWS
#include "body.h"
