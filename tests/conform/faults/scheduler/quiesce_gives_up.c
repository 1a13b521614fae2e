// CONSORT-S-21: quiesce answers OK when it does not want to wait any longer
#define FAULT_QUIESCE_GIVES_UP
#include "body.h"
