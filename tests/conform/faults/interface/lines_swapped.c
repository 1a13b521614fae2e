// CONSORT-I-14: two lines change places on the way home
#define FAULT_LINES_SWAPPED
#include "body.h"
