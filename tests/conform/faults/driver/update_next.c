// CONSORT-D-83: update changes the op behind the one that is named
#define FAULT_UPDATE_NEXT
#include "body.h"
