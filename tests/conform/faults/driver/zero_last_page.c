// CONSORT-D-6, not found yet: of blocks of more than 64 KiB the last page is not cleared
#define FAULT_ZERO_LAST_PAGE
#include "body.h"
