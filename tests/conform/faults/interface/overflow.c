// CONSORT-I-33: registration takes sizes that run over
#define FAULT_OVERFLOW
#include "body.h"
