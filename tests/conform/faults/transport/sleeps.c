// CONSORT-T-54: post sleeps
#define FAULT_SLEEPS
#include "body.h"
