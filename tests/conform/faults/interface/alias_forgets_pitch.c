// CONSORT-I-42: in a packed replica the bands begin one line later
#define FAULT_ALIAS_FORGETS_PITCH
#include "body.h"
