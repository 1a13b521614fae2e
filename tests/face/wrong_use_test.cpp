// Wrong uses of the C++ face do not compile, and the compiler says our sentence. Each case is a function body that
// is given to the compiler of this program's build.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/harness.hpp"
#include "support/folder.hpp"

namespace {

struct Case {
  const char *name, *body, *says;  // says nullptr: it is fine
};

const Case kCases[] = {
    {"right",
     "rt.submit(scale, rw(x), 3.f); rt.submit(look, r(x)); rt.submit(look, r(fixed)); rt.submit(scale, token_use, "
     "rw(x), 1);",
     nullptr},
    {"too_few", "rt.submit(scale, rw(x));", "gives more or fewer data and arguments"},
    {"too_many", "rt.submit(scale, rw(x), 1.f, 2.f);", "gives more or fewer data and arguments"},
    {"read_given_to_a_writer", "rt.submit(scale, r(x), 1.f);", "r(x) is given to a codelet that writes"},
    {"write_given_to_a_reader", "rt.submit(look, rw(x));", "the codelet only reads this datum"},
    {"another_element", "rt.submit(scale, rw(ints), 1.f);", "a datum of another layout or element"},
    {"another_layout", "rt.submit(scale, rw(m), 1.f);", "a datum of another layout or element"},
    {"datum_for_argument", "rt.submit(scale, rw(x), rw(x));", "the codelet takes an argument here, not a datum"},
    {"argument_for_datum", "rt.submit(scale, 1.f, 1.f);", "the codelet takes a datum here"},
    {"argument_of_no_use", "rt.submit(scale, rw(x), \"text\");", "does not convert to what the codelet takes"},
    {"writing_const", "rt.submit(look, w(fixed));", "was registered as const"},
    {"commuting_const", "rt.submit(look, commute(fixed));", "was registered as const"},
    {"reducing_const", "rt.submit(look, redux(fixed));", "was registered as const"},
    {"reducing_by_the_wrong_thing", "x.set_reduction(scale, add);",
     "init of a reduction takes the datum and nothing else"},
    {"uniting_by_the_wrong_thing", "x.set_reduction(zero, zero);", "combine of a reduction takes"},
    {"right_reduction", "x.set_reduction(zero, add); rt.submit(zero, redux(x)); rt.submit(zero, commute(x));", nullptr},
    {"generic_lambda", "const Codelet c{\"c\", cpu([](auto) {})};", ""},
    {"mutable_lambda", "const Codelet c{\"c\", cpu([n = 0](std::span<float>) mutable { ++n; })};",
     "fixed parameter types and is const"},
    {"string_argument", "const Codelet c{\"c\", cpu([](std::string) {})};", "trivially copyable"},
    {"odd_result", "const Codelet c{\"c\", cpu([](float) { return 1.0; })};", "void or consort_status"},
    {"span_by_reference", "const Codelet c{\"c\", cpu([](const std::span<float> &) {})};",
     "spans, matrices and the like by value"},
    {"implementations_differ", "const Codelet c{\"c\", cpu([](float) {}), cpu([](int) {})};",
     "take the same parameters"},
    {"elements_that_own", "std::vector<std::string> s; auto d = rt.vector(s);", "moved as bytes"},
    {"callback_that_does_not_fit",
     "double a = 0, b = 0, c = 0; rt.submit({.done = [&a, &b, &c] { a = b + c; }}, look, r(x));", "give an lvalue"},
};

int compile(const Case &c, const std::filesystem::path &folder, std::string *output) {
  const auto source = folder / (std::string(c.name) + ".cpp"), log = folder / (std::string(c.name) + ".log");
  std::ofstream(source) << "#include <consort/consort.hpp>\n#include <string>\n#include <vector>\n"
                           "using namespace consort;\n"
                           "void f(Runtime &rt, Data<std::span<float>> &x, Data<std::span<int>> &ints, "
                           "Data<std::span<const float>> &fixed,\n"
                           "       Data<Matrix<float>> &m, Use<void, CONSORT_M_RW> token_use) {\n"
                           "  const Codelet scale{\"scale\", cpu([](std::span<float>, float) {})};\n"
                           "  const Codelet look{\"look\", cpu([](std::span<const float>) {})};\n"
                           "  const Codelet zero{\"zero\", cpu([](std::span<float>) {})};\n"
                           "  const Codelet add{\"add\", cpu([](std::span<float>, std::span<const float>) {})};\n"
                           "  (void)ints, (void)fixed, (void)m, (void)token_use;\n  "
                        << c.body << "\n}\n";
  const char *compiler = std::getenv("CXX");
  const std::string command = std::string(compiler && *compiler ? compiler : "c++") +
                              " -std=c++20 -fsyntax-only -I'" CONSORT_TEST_SOURCE_DIR "/../sdk/include' '" +
                              source.string() + "' >'" + log.string() + "' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream in(log);
  output->assign(std::istreambuf_iterator<char>(in), {});
  return status;
}

TEST(WrongUse, DoesNotCompileAndSaysWhy) {
  const consort_test::Folder folder("wrong-use", std::filesystem::temp_directory_path());
  constexpr size_t n = std::size(kCases);
  std::string output[n];
  int status[n];
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < n;) status[i] = compile(kCases[i], folder.path(), &output[i]);
    });
  for (auto &t : threads) t.join();
  for (size_t i = 0; i < n; ++i) {
    SCOPED_TRACE(kCases[i].name);
    if (!kCases[i].says) {
      EXPECT_EQ(status[i], 0) << output[i];
      continue;
    }
    EXPECT_NE(status[i], 0) << "it compiles";
    EXPECT_NE(output[i].find(kCases[i].says), std::string::npos) << output[i].substr(0, 4000);
  }
}

}  // namespace
