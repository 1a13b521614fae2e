// CONSORT-S-6: drain forgets what is urgent
#define FAULT_DRAIN_FORGETS
#include "body.h"
