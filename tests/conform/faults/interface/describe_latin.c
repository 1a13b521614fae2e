// CONSORT-I-21: a text is no UTF-8
#define FAULT_DESCRIBE_LATIN
#include "body.h"
