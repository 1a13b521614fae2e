// CONSORT-D-9: of rows with gaps the last one is cut to 64 bytes
#define FAULT_SHORT_LAST_ROW
#include "body.h"
