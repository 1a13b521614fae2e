// CONSORT-I-24: registration does not look at the length of its arguments
#define FAULT_ARGUMENTS_UNREAD
#include "body.h"
