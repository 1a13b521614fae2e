// CONSORT-I-18: view takes the base of a block's address alone
#define FAULT_VIEW_IGNORES_OFFSET
#include "body.h"
