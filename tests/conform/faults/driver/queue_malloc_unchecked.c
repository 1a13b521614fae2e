// CONSORT-D-41: queue_open does not look whether malloc gave something
#define FAULT_QUEUE_MALLOC
#include "body.h"
