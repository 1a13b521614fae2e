// CONSORT-T-12: the newest receive that matches takes a message
#define FAULT_RECEIVES_LAST_FIRST
#include "body.h"
