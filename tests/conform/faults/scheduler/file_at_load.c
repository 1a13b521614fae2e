// CONSORT-P-21: loading the file opens one and keeps it
#include "body.h"

#include <fcntl.h>
__attribute__((constructor)) static void at_load(void) { open("/dev/null", O_RDONLY); }
