// CONSORT-I-2: a filter names the interface of its children and does not say that it retypes
#define FAULT_NAMES_CHILD
#include "body.h"
