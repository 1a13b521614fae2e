// CONSORT-D-4: link offers paths between unknown spaces
#define FAULT_ANY_LINK
#include "body.h"
