// CONSORT-S-1: some tasks stay in the list when they are handed out
#define FAULT_TWICE
#include "body.h"
