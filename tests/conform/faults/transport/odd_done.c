// CONSORT-T-14: a send whose message has arrived ends with 7, which is no status
#define SENT_STATUS 7
#include "body.h"
