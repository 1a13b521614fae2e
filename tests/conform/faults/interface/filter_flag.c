// CONSORT-I-2: a filter has a flag that nobody defined
#define FAULT_FILTER_FLAG
#include "body.h"
