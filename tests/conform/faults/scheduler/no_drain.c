// CONSORT-P-9: there is no drain
#define FAULT_NO_DRAIN
#include "body.h"
