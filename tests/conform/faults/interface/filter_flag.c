// CONSORT-I-2: a filter has an undefined flag
#define FAULT_FILTER_FLAG
#include "body.h"
