// CONSORT-S-7: push takes tasks of any epoch
#define FAULT_IGNORES_EPOCH
#include "body.h"
