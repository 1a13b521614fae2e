// CONSORT-I-50: describe uses one buffer for all threads
#define FAULT_STATIC_TEXT
#include "body.h"
