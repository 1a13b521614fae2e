// CONSORT-I-12: the last line is never copied
#define FAULT_RUN_MISSING
#include "body.h"
