// CONSORT-S-4: pop writes a pick though it gives none
#define FAULT_NAMES_IMPL
#include "body.h"
