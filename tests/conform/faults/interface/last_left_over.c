// CONSORT-I-41: what division leaves over is no child's
#define FAULT_LAST_LEFT_OVER
#include "body.h"
