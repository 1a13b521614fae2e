// CONSORT-S-10: push takes it that whoever pushes comes for the task, whether it can run it or not
#define FAULT_PUSHER_COMES
#include "body.h"
