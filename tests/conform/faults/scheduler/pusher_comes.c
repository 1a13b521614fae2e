// CONSORT-S-10: push relies on the pushing worker to take the task, even if it cannot run it
#define FAULT_PUSHER_COMES
#include "body.h"
