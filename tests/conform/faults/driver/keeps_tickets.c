// CONSORT-D-15: the array of tickets is read after submit
#define FAULT_KEEPS_TICKETS
#include "body.h"
