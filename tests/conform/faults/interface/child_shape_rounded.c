// CONSORT-I-41: a child's shape has a line less than its alias
#define FAULT_CHILD_SHAPE_ROUNDED
#include "body.h"
