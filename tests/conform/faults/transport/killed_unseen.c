// CONSORT-T-44: that a peer was killed is not seen
#define FAULT_KILLED_UNSEEN
#include "sockets.h"
