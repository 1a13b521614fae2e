// CONSORT-I-30: the number of lines is cut on the wire
#define FAULT_ENCODE_HALF
#include "body.h"
