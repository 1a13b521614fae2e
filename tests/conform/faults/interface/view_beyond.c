// CONSORT-I-18: a view of many lines reaches beyond its block
#define FAULT_VIEW_BEYOND
#include "body.h"
