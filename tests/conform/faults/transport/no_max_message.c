// CONSORT-T-1: open says that messages have no bytes
#define FAULT_NO_MAX_MESSAGE
#include "body.h"
