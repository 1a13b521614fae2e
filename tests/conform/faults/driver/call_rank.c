// CONSORT-D-20: the rank of a consort_call is written
#define FAULT_CALL_RANK
#include "body.h"
