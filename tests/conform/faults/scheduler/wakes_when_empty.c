// CONSORT-S-10: push wakes only where nothing waited
#define FAULT_WAKES_WHEN_EMPTY
#include "body.h"
