// CONSORT-I-16: pack takes a buffer that lacks a byte
#define FAULT_PACK_IGNORES_ROOM
#include "body.h"
