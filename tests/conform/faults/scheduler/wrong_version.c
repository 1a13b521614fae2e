// CONSORT-P-4: the note names another version than the table
#define NOTE_VERSION "1.0.1"
#include "body.h"
