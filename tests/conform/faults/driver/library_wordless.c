// CONSORT-D-85: an unknown library is refused without a word
#define FAULT_LIBRARY_WORDLESS
#include "body.h"
