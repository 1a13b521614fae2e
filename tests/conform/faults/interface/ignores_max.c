// CONSORT-I-10: writes an entry where there is room for none
#define FAULT_IGNORES_MAX
#include "body.h"
