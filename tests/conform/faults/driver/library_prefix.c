// CONSORT-D-85: the beginning of a library's name is taken for it, and so is no name at all
#define FAULT_LIBRARY_PREFIX
#include "body.h"
