// CONSORT-I-40: a band has the first line of the next
#define FAULT_CHILDREN_OVERLAP
#include "body.h"
