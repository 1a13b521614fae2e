// CONSORT-D-16: a mark is done when it is submitted
#define FAULT_MARK_AT_ONCE
#include "body.h"
