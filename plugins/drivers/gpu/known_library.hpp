// known_library.hpp — a vendor's library known to a driver (a row of its table), and its opened form.
//
// Constant once created; any thread.
#pragma once
#include <consort/plugin.h>

#include <string>

namespace gpu {

// Functions of such a library: int create(void **handle), int set_stream(void *handle, void *stream),
// int destroy(void *handle), const char *words(int status). Handles of all vendors are pointers.
struct KnownLibrary {
  struct Meaning {
    int code;
    consort_status status;
  };
  const char *name;                           // name in programs, and of the setting for its path
  const char *create, *set_stream, *destroy;
  const char *words;                          // optional
  const char *files[6];                       // newest first; ends with nullptr
  const char *remedy;                         // text if it is not installed
  Meaning meanings[8];                        // statuses of error codes; others are E_IO
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
      case CONSORT_E_NOMEM: return text + ": the device is out of memory: reserve some for the library by the setting limit";
      case CONSORT_E_INVAL: return text + ": check the sizes, leading dimensions and addresses";
      case CONSORT_E_UNSUPPORTED: return text + ": not supported by this device or this version of the library";
      default: break;
    }
    if (function == known->create)
      return text + ": " + file + " does not start: set " + known->name + " to a version that the vendor's driver supports";
    return text + ": an earlier operation on the device may have failed";
  }
};

}  // namespace gpu
