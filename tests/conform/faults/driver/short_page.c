// CONSORT-D-8: a copy of a page and a byte lacks its last one
#define FAULT_SHORT_PAGE
#include "body.h"
