// CONSORT-D-11: now and then a mark is never reported
#define FAULT_LOSES
#include "body.h"
