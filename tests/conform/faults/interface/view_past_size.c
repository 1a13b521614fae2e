// CONSORT-I-11: view writes behind the end of the view
#define FAULT_VIEW_PAST_SIZE
#include "body.h"
