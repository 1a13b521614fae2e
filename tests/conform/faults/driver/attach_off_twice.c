// CONSORT-D-23: attach answers an address with the off part added twice
#define FAULT_ATTACH_OFF_TWICE
#include "body.h"
