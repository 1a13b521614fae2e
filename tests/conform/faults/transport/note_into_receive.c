// CONSORT-T-34: a notification ends a receive, too
#define FAULT_NOTE_INTO_RECEIVE
#include "body.h"
