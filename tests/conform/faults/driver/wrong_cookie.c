// CONSORT-D-11: an op that ends while the queue is full is reported by another cookie
#define FAULT_WRONG_COOKIE
#include "body.h"
