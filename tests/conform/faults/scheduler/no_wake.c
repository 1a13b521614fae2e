// CONSORT-S-10: push wakes nobody
#define FAULT_NO_WAKE
#include "body.h"
