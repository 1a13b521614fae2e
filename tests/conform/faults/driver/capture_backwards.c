// CONSORT-D-80: the ops of a graph run in the opposite order
#define FAULT_CAPTURE_BACKWARDS
#include "body.h"
