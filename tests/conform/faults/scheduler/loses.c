// CONSORT-S-1: the last task of a batch is forgotten
#define FAULT_LOSES
#include "body.h"
