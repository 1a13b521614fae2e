// templates.hpp — the files of sdk/new at build time, which `consort new` copies.
//
// Constants. `new-name`, `new_name`, `NEW_NAME` and `NewName` in them stand for the new plugin's name.
#pragma once
#include <cstddef>

namespace tool {

struct Template {
  const char *kind, *language;  // "scheduler", "cpp"; "all": for every kind or language
  const char *path, *text;      // below the new folder
};
extern const Template kTemplates[];
extern const size_t kTemplateCount;

}  // namespace tool
