// CONSORT-S-10: push wakes no worker
#define FAULT_NO_WAKE
#include "body.h"
