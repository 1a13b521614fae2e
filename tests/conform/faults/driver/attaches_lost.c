// CONSORT-D-46: a lost device still attaches memory
#define FAULT_ATTACHES_LOST
#include "body.h"
