// known_library.hpp — a vendor's library as a driver knows it (a line of its table), and as it was opened.
//
// Constant once made; any thread.
#pragma once
#include <consort/plugin.h>

#include <string>

namespace gpu {

// What such a library is asked by: int create(void **handle), int set_stream(void *handle, void *stream),
// int destroy(void *handle), const char *words(int status). Handles of all vendors are pointers.
struct KnownLibrary {
  struct Meaning {
    int code;
    consort_status status;
  };
  const char *name;                           // in programs, and of the setting with its path
  const char *create, *set_stream, *destroy;
  const char *words;                          // not every version has it
  const char *files[6];                       // the newest first; nullptr behind the last
  const char *remedy;                         // where there is none
  Meaning meanings[8];                        // of what is not 0; others are E_IO
};

struct OpenLibrary {
  const KnownLibrary *known = nullptr;
  void *object = nullptr;
  int (*create)(void **) = nullptr;
  int (*set_stream)(void *, void *) = nullptr;
  int (*destroy)(void *) = nullptr;
  const char *(*words)(int) = nullptr;
  std::string file;

  consort_status status_of(int code) const noexcept {
    for (const auto &m : known->meanings)
      if (m.code == code && m.code) return m.status;
    return CONSORT_E_IO;
  }
  std::string failure(const std::string &function, int code) const {
    std::string text = std::string("library \"") + known->name + "\": " + function + " answers " + std::to_string(code);
    if (const char *said = words ? words(code) : nullptr; said && *said) text += std::string(" (") + said + ")";
    switch (status_of(code)) {
      case CONSORT_E_NOMEM: return text + ": the device's memory is used up: leave it some beside the runtime's, by the setting limit";
      case CONSORT_E_INVAL: return text + ": look at the sizes, leading dimensions and addresses that it was given";
      case CONSORT_E_UNSUPPORTED: return text + ": this device, or this version of the library, cannot do it";
      default: break;
    }
    if (function == known->create)
      return text + ": " + file + " does not start here: name one in the setting " + known->name + " that the vendor's driver is new enough for";
    return text + ": what ran on the device before may have failed";
  }
};

}  // namespace gpu
