// CONSORT-D-31: a queue belongs to the thread that used it first
#define FAULT_OF_ONE_THREAD
#include "body.h"
