// CONSORT-S-15: dropped unlinks more than 64 tasks, and hands back 64
#define FAULT_DROPPED_64
#include "body.h"
