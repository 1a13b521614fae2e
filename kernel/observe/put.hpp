// put.hpp — appends a formatted piece to a text of a trace or of the log of submissions.
#pragma once
#include <cstdio>
#include <string>

namespace consort {

// Appends at most 255 bytes. May throw bad_alloc.
template <class... A> void put(std::string *text, const char *format, A... args) {
  char piece[256];
  std::snprintf(piece, sizeof piece, format, args...);
  *text += piece;
}

}  // namespace consort
