// CONSORT-I-18: view takes any number of blocks
#define FAULT_ANY_BLOCKS
#include "body.h"
