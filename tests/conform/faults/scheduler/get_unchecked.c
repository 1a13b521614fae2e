// CONSORT-S-40: create does not look whether there is the service
#define FAULT_GET
#include "body.h"
