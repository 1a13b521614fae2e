// CONSORT-T-36: a notification names the bytes of one row
#define FAULT_NOTE_OF_ROW
#include "body.h"
