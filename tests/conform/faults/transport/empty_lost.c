// CONSORT-T-14: a message without bytes is lost
#define FAULT_EMPTY_LOST
#include "body.h"
