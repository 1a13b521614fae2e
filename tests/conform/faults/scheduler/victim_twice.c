// CONSORT-S-18: victim names one replica twice
#define FAULT_VICTIM_TWICE
#include "body.h"
