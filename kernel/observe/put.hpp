// put.hpp — appends a formatted piece to a text: of a trace's file, of the log of the graph.
#pragma once
#include <cstdio>
#include <string>

namespace consort {

// At most 255 bytes of it. May throw bad_alloc.
template <class... A> void put(std::string *text, const char *format, A... args) {
  char piece[256];
  std::snprintf(piece, sizeof piece, format, args...);
  *text += piece;
}

}  // namespace consort
