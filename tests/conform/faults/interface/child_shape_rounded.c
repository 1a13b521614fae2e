// CONSORT-I-42, not found yet: a child's shape has a line less than its alias
#define FAULT_CHILD_SHAPE_ROUNDED
#include "body.h"
