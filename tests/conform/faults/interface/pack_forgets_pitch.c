// CONSORT-I-15: packs as if there were no gaps
#define FAULT_PACK_FORGETS_PITCH
#include "body.h"
