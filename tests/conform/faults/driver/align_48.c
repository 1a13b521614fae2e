// CONSORT-D-2: the alignment of a space is no power of two
#define FAULT_ALIGN_48
#include "body.h"
