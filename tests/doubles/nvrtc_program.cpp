#include "nvrtc_program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "image.h"
#include "nvrtc_text.hpp"

extern char **environ;

namespace nvrtc {

namespace {

// As the compilers of all vendors answer.
enum Result { right = 0, compilation_failed = 6, invalid_option = 5, builtin_failed = 7 };

// Set by CMake from the two headers, so that the library needs no file of the source tree.
constexpr char prelude[] = {
#include "nvrtc_prelude.inc"
};

struct Folder {  // of one compilation
  std::filesystem::path path;
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "consort-double-XXXXXX").string();
    if (char *at = mkdtemp(made.data())) {
      path = at;
    }
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) {
      std::filesystem::remove_all(path, ignored);
    }
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
};

std::string read(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

// Its options as g++ knows them. False where one is none.
bool known(const std::vector<std::string> &options, std::vector<std::string> &out, std::string &log) {
  for (size_t i = 0; i < options.size(); ++i) {
    std::string option = options[i];
    bool apart = option == "-I" || option == "-D" || option == "-U" || option == "-arch" || option == "-std" ||
                 option == "--include-path" || option == "--define-macro" || option == "--gpu-architecture";
    if (apart && i + 1 < options.size()) {
      option += (option.size() == 2 ? "" : "=") + options[++i];
    }
    for (auto [from, to] :
         {std::pair{"--include-path=", "-I"}, {"--define-macro=", "-D"}, {"--undefine-macro=", "-U"}}) {
      if (option.starts_with(from)) {
        option = to + option.substr(std::strlen(from));
      }
    }
    if (option.starts_with("-I") || option.starts_with("-D") || option.starts_with("-U")) {
      out.push_back(option);
    } else if (option.starts_with("--std=") || option.starts_with("-std=")) {
      std::string standard = option.substr(option.find('=') + 1);
      out.push_back(standard == "c++20" ? "-std=c++20" : "-std=c++17");  // the prelude needs no less
    } else if (!option.starts_with("-")) {
      log = "nvrtc: error: unrecognized option " + option + " found\n";
      return false;
    }
  }
  return true;
}

int run(const std::vector<std::string> &words, const std::filesystem::path &log) {
  std::vector<char *> argv;
  for (const std::string &word : words) {
    argv.push_back(const_cast<char *>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  int error = posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  while (!error && waitpid(child, &status, 0) < 0) {
    error = errno == EINTR ? 0 : errno;
  }
  return error ? -error : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// The lowered names, read from the image itself.
void find_lowered(Program &program, const std::filesystem::path &image) {
  void *library = dlopen(image.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return;
  }
  auto *table = static_cast<const consort_double_image *>(dlsym(library, "consort_double_image"));
  for (unsigned i = 0; table && i < table->kernel_count; ++i) {
    Dl_info info{};
    if (dladdr(table->kernels[i].function, &info) && info.dli_sname) {
      program.lowered[table->kernels[i].name] = info.dli_sname;
    }
  }
  dlclose(library);
}

std::string table_of(const Program &program, const std::vector<std::string> &kernels) {
  std::string rows;
  for (const auto *names : {&kernels, &program.expressions}) {
    for (const std::string &name : *names) {
      std::string value = name.starts_with("&") ? name.substr(1) : name;
      rows += "CONSORT_KERNEL(\"" + escaped(name) + "\", &" + value + "),\n";
    }
  }
  return "\n#line 1 \"the table of kernels\"\nstatic const consort_double_kernel consort_double_kernels[] = {\n" +
         rows +
         "{}};\nextern \"C\" __attribute__((visibility(\"default\"))) const consort_double_image consort_double_image "
         "= {"
         "consort_double_image_version, sizeof consort_double_kernels / sizeof *consort_double_kernels - 1,"
         " consort_double_kernels};\n";
}

}  // namespace

int compile(Program &program, const std::vector<std::string> &options) {
  program.compiled = false;
  program.log.clear();
  std::vector<std::string> words = {"g++",
                                    "-x",
                                    "c++",
                                    "-O1",
                                    "-fPIC",
                                    "-shared",
                                    "-Wl,-Bsymbolic",  // a kernel may be called as some function of the host's is
                                    "-fno-gnu-unique",  // else no image is ever unloaded
                                    "-w",
                                    "-fno-exceptions",
                                    "-fdiagnostics-color=never",
                                    "-fno-diagnostics-show-caret"};
  std::string standard = "-std=c++17";
  if (!known(options, words, program.log)) {
    return invalid_option;
  }
  auto given = std::find_if(words.begin(), words.end(), [](const auto &word) { return word.starts_with("-std="); });
  if (given == words.end()) {
    words.push_back(standard);
  }
  Folder folder;
  std::string bare_source = bare(program.source);
  if (bare_source.find("__syncthreads") != bare_source.npos || bare_source.find("__syncwarp") != bare_source.npos) {
    words.push_back("-DCONSORT_DOUBLE_BARRIERS");
  }
  auto kernels = kernels_in(program.source);
  std::erase_if(kernels, [&](const auto &name) {
    return std::find(program.expressions.begin(), program.expressions.end(), name) != program.expressions.end();
  });
  std::string name = program.name.empty() ? "default_program" : program.name;
  std::string text = std::string(prelude) + "\n#line 1 \"" + escaped(name) + "\"\n" +
                     without_dynamic_shared(program.source) + table_of(program, kernels);
  auto source = folder.path / "program.cpp", image = folder.path / "image.so", log = folder.path / "log";
  bool written = !folder.path.empty() && write(source, text);
  for (const auto &[file, header] : program.headers) {
    auto path = (folder.path / file).lexically_normal();
    bool inside = path.string().starts_with(folder.path.string() + "/");
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    written = written && inside && write(path, header);
  }
  if (!written) {
    program.log = "the folder for temporary files cannot be written\n";
    return builtin_failed;
  }
  for (const std::string &word : {"-I" + folder.path.string(), source.string(), std::string("-o"), image.string()}) {
    words.push_back(word);
  }
  int status = run(words, log);
  program.log = status < 0 ? std::string("g++ cannot be run: ") + std::strerror(-status) + "\n" : read(log);
  program.image = status == 0 ? read(image) : std::string();
  if (status != 0 || program.image.empty()) {
    return compilation_failed;
  }
  find_lowered(program, image);
  program.compiled = true;
  return right;
}

}  // namespace nvrtc
