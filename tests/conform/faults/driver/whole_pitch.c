// CONSORT-D-9: what lies between rows is written, too
#define FAULT_WHOLE_PITCH
#include "body.h"
