// CONSORT-I-30: decode leaves a field as it was
#define FAULT_DECODE_FORGETS_FIELD
#include "body.h"
