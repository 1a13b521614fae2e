// templates.hpp — the files of sdk/new, as they were when the command was built: what `consort new` copies.
//
// Constants. In them stand `new-name`, `new_name`, `NEW_NAME` and `NewName` for the name of the plugin to be.
#pragma once
#include <cstddef>

namespace tool {

struct Template {
  const char *kind, *language;  // "scheduler", "cpp"; "all": of every one
  const char *path, *text;      // below the new folder
};
extern const Template kTemplates[];
extern const size_t kTemplateCount;

}  // namespace tool
