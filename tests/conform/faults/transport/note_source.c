// CONSORT-T-34: a notification names its target as its source
#define FAULT_NOTE_SOURCE
#include "body.h"
