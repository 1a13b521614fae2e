// CONSORT-I-10: encode answers how much it wrote, not how much there is
#define FAULT_ENCODE_CUT
#include "body.h"
