// CONSORT-I-44: no parts are taken for one
#define FAULT_NO_PARTS
#include "body.h"
