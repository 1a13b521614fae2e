// CONSORT-I-24: registration reads its arguments where there are none
#define FAULT_NULL_UNREAD
#include "body.h"
