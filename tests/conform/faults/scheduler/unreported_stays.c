// CONSORT-S-23: a popped task that fails before it starts takes up one of its worker's places for ever
#include "in_flight.h"

static int leaves(Policy *p, uint32_t worker, const consort_task *t) { return flights(p)->of[worker] >= 16; }
