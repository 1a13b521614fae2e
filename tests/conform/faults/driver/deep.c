// CONSORT-D-13: the queue says that it takes four times as many as it does
#define FAULT_DEEP
#include "body.h"
