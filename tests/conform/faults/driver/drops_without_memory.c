// CONSORT-D-42: an op for which there is no memory is accepted and dropped
#define FAULT_SUBMIT_MALLOC
#include "body.h"
