// Nothing is wrong with this one: it conforms.
#include "body.h"
