// CONSORT-P-7: a default is not within its range
#define DEFAULT_DEPTH "4096"
#include "body.h"
