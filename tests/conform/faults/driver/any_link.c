// CONSORT-D-4: link offers paths to spaces of nobody it knows
#define FAULT_ANY_LINK
#include "body.h"
