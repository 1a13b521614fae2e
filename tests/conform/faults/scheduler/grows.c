// CONSORT-S-51: each push keeps a note until destroy
#define FAULT_GROWS
#include "body.h"
