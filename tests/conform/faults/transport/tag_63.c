// CONSORT-T-10: the highest bit of a tag is not compared
#define FAULT_TAG_63
#include "body.h"
