// CONSORT-D-44: a lost device is not told
#define FAULT_LOST_SILENT
#include "body.h"
