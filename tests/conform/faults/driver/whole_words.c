// CONSORT-D-8: the last bytes of a run are not copied
#define FAULT_WHOLE_WORDS
#include "body.h"
