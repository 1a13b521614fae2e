// CONSORT-D-83: update changes the op behind the named one
#define FAULT_UPDATE_NEXT
#include "body.h"
