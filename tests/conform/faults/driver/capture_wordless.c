// CONSORT-D-82: a capture is refused without a word
#define FAULT_CAPTURE_WORDLESS
#include "body.h"
