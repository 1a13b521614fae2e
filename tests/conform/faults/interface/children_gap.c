// CONSORT-I-41: the last band lacks a line
#define FAULT_CHILDREN_GAP
#include "body.h"
