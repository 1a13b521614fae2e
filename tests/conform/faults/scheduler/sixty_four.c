// CONSORT-S-11: workers beyond the 64th are never woken
#define FAULT_SIXTY_FOUR
#include "body.h"
