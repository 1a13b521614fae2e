// CONSORT-D-81: the completion of a launch has another cookie than its mark
#define FAULT_LAUNCH_COOKIE
#include "body.h"
