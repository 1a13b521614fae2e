// CONSORT-D-9: bytes between rows are written, too
#define FAULT_WHOLE_PITCH
#include "body.h"
