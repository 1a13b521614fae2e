// CONSORT-I-12: the first line is copied twice
#define FAULT_RUN_TWICE
#include "body.h"
