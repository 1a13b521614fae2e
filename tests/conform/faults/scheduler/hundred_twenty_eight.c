// CONSORT-S-11: workers beyond the 128th are never woken
#define FAULT_HUNDRED_TWENTY_EIGHT
#include "body.h"
