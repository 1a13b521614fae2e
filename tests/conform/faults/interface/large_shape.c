// CONSORT-I-1: says that a shape has 300 bytes
#define FAULT_LARGE_SHAPE
#include "body.h"
