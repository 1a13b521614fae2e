// CONSORT-D-6: of blocks of more than 64 KiB the last page is not cleared
#define FAULT_ZERO_LAST_PAGE
#include "body.h"
