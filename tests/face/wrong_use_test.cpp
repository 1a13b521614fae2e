// Wrong uses of the C++ face do not compile, and the compiler says our sentence. Each case is a function body that
// is given to the compiler of this program's build.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>

#include "api/harness.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace {

struct Case {
  const char *name, *body, *says;  // says nullptr: it is fine
  bool compiles = false;           // with `says` as a warning
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
    {"vector_for_datum", "std::vector<float> v; rt.submit(look, v);", "register the memory, auto x = rt.vector(v)"},
    {"vector_for_datum_unchecked",
     "std::vector<float> v; const Codelet any{\"any\", cpu([](const consort_call &) {})}; rt.submit(any, v);",
     "a datum is given as r(x), w(x) or rw(x)"},
    {"use_of_a_vector", "std::vector<float> v; rt.submit(look, r(v));", "x is no datum; register it first"},
    {"write_of_a_pointer", "float *p = nullptr; rt.submit(scale, rw(p), 1.f);", "x is no datum; register it first"},
    {"datum_without_a_mode", "rt.submit(look, x);", "with how it is used: give r(x), w(x), rw(x)"},
    {"double_for_float", "double a = 3; rt.submit(scale, rw(x), a); rt.submit(scale, rw(x), 3.0);", nullptr},
    {"numbers_for_numbers",
     "const Codelet take{\"take\", cpu([](int, float, size_t, bool, char) {})}; size_t n = 4; long l = 4; enum E { one }; "
     "rt.submit(take, n, l, 3, 1.5, 'a'); rt.submit(take, one, n, 3u, &n, l); rt.submit(take, static_cast<int>(1.5), 1.5, l, n, 7);",
     nullptr},
    {"fraction_for_an_integer", "const Codelet take{\"take\", cpu([](int) {})}; rt.submit(take, 1.5);", "the codelet takes an integer here, and a floating-point value is given"},
    {"fraction_for_a_size", "const Codelet take{\"take\", cpu([](float, size_t) {})}; float f = 1; auto s = rt.prepare(take, 1, f);",
     "the codelet takes an integer here, and a floating-point value is given"},
    {"doubles_for_floats", "std::vector<double> v(4); auto y = rt.vector(v); rt.submit(scale, rw(y), 1.f);",
     "a vector of double is none of float"},
    {"misspelt_option", "rt.submit({.priorty = 3}, look, r(x));", "misspelt_option_see_consort_Options"},
    {"misspelt_option_of_a_submission", "auto s = rt.prepare({.prioritty = 3}, look, r(x));", "misspelt_option_see_consort_Options consort::face::detail::Submitter::prepare"},
    {"misspelt_option_of_a_call", "const Codelet sum{\"sum\", cpu(returning([](int n) { return n; }))}; auto f = call(rt, {.prioritty = 3}, sum, 1);",
     "misspelt_option_see_consort_Options consort::face::call"},
    {"misspelt_option_of_a_sender", "auto s = sender(rt, {.prioritty = 3}, look, r(x));", "misspelt_option_see_consort_Options consort::face::sender"},
    {"misspelt_option_of_a_sync_point", "rt.sync_point({.prioritty = 3}, r(x));", "misspelt_option_see_consort_Options consort::face::detail::Submitter::sync_point"},
    {"option_of_another_type", "rt.submit({.priority = \"high\"}, look, r(x));", "misspelt_option_see_consort_Options consort::face::detail::Submitter::submit"},
    {"options_as_they_are",
     "Options o; o.priority = 3; rt.submit(o, look, r(x)); rt.submit({.priority = 3, .name = \"n\"}, look, r(x)); "
     "rt.submit({}, look, r(x));",
     nullptr},
    {"lambda_for_codelet", "rt.submit([](std::span<const float>) {}, r(x));", "submit() takes a codelet"},
    {"lambda_for_codelet_with_options", "rt.submit({.priority = 1}, [](std::span<const float>) {}, r(x));",
     "submit() takes a codelet"},
    {"lambda_for_implementation", "const Codelet c{\"c\", [](std::span<float>) {}};",
     "a Codelet is made of implementations, each for a class of units"},
    {"copied_handle", "auto y = x;", "a handle owns its datum and is not copied"},
    {"copied_parts", "auto p = x.partition(blocks{.parts = 4}); auto q = p;", "it owns its plan and is not copied"},
    {"partitions",
     "size_t n = 4; auto a = x.partition(blocks{.parts = 4}), b = x.partition(blocks{.parts = n}), c = x.partition(\"blocks\", consort_split{4, 0}); "
     "auto lines = m.partition(slices{.axis = 1}); rt.submit(look, r(lines[0])); auto seen = x.partition(overlap{.parts = 4}); "
     "rt.submit(look, r(seen[0])); auto t = m.partition(tiles{.x = 2, .y = 2}); auto h = m.partition(halves{}, read_only);",
     nullptr},
    {"partition_by_a_fraction", "x.partition(blocks{.parts = 4.5});", "consort::face::Count"},
    {"partition_by_a_number", "x.partition(4);", "partition() takes a filter, consort::blocks{.parts = 4}"},
    {"partition_by_name_and_number", "x.partition(\"blocks\", 4);", "a number of parts is consort::blocks{.parts = 4}"},
    {"tiles_of_a_vector", "x.partition(tiles{.x = 2, .y = 2});", "the datum's layout has no such filter"},
    {"rows_of_a_vector", "x.partition(rows{.parts = 2});", "the datum's layout has no such filter"},
    {"writing_a_part_that_is_read_alone", "auto p = x.partition(blocks{.parts = 4}, read_only); rt.submit(scale, rw(p[0]), 1.f);",
     "was registered as const"},
    {"writing_a_part_with_a_border", "auto p = x.partition(overlap{.parts = 4}); rt.submit(scale, rw(p[0]), 1.f);", "was registered as const"},
    {"slices_for_their_whole", "auto p = m.partition(slices{.axis = 1}); rt.submit(whole, r(p[0]));", "a datum of another layout or element"},
    {"plans_by_their_former_name",
     "auto a = x.plan(\"blocks\", 4), b = x.plan(\"blocks\", 4u), c = x.plan(\"blocks\", {4, 0}), d = x.plan(\"blocks\", "
     "consort_split{4, 0}); auto rows = m.plan<std::span<float>>(\"rows\", 4); rt.submit(look, r(a[0]));",
     "x.partition(consort::blocks{.parts = 4})", true},
    {"plan_by_a_fraction", "x.plan(\"blocks\", 4.5);", "or a number of parts"},
    {"derived_handle", "struct Mine : Data<std::span<float>> {} mine; rt.submit(look, r(mine));", nullptr},
    {"argument_of_no_use", "rt.submit(scale, rw(x), \"text\");", "does not convert to what the codelet takes"},
    {"writing_const", "rt.submit(look, w(fixed));", "was registered as const"},
    {"commuting_const", "rt.submit(look, commute(fixed));", "was registered as const"},
    {"reducing_const", "rt.submit(look, redux(fixed));", "was registered as const"},
    {"reducing_by_the_wrong_thing", "x.set_reduction(scale, add);",
     "init of a reduction takes the datum and nothing else"},
    {"uniting_by_the_wrong_thing", "x.set_reduction(zero, zero);", "combine of a reduction takes"},
    {"right_reduction", "x.set_reduction(zero, add); rt.submit(zero, redux(x)); rt.submit(zero, commute(x));", nullptr},
    {"reductions",
     "rt.reduction(x, 0, std::plus<>{}); rt.reduction(m, 1.0, [](float a, float b) { return a * b; }); rt.submit(zero, redux(x));", nullptr},
    {"reduction_of_a_vector", "std::vector<float> v; rt.reduction(v, 0.f, std::plus<>{});", "x is no datum; register it first"},
    {"reduction_of_const", "rt.reduction(fixed, 0.f, std::plus<>{});", "x was registered as const: it cannot be written"},
    {"reduction_of_a_token", "auto t = rt.token(); rt.reduction(t, 0.f, std::plus<>{});", "a token has no contents"},
    {"reduction_from_a_text", "rt.reduction(x, \"0\", std::plus<>{});", "the neutral value does not convert"},
    {"reduction_by_one_value", "rt.reduction(x, 0.f, [](float a) { return a; });", "the operation takes two elements"},
    {"reduction_that_changes_itself", "rt.reduction(x, 0.f, [n = 0](float a, float b) mutable { return a + b * float(++n); });",
     "the operation takes two elements, is const"},
    {"reduction_that_owns", "std::string s; rt.reduction(x, 0.f, [s](float a, float b) { return a + b; });", "the operation is kept as bytes"},
    {"generic_lambda", "const Codelet c{\"c\", cpu([](auto) {})};", "a generic one (auto, templates, overloads)"},
    {"mutable_lambda", "const Codelet c{\"c\", cpu([n = 0](std::span<float>) mutable { ++n; })};",
     "fixed parameter types and is const"},
    {"string_argument", "const Codelet c{\"c\", cpu([](std::string) {})};", "trivially copyable"},
    {"odd_result", "const Codelet c{\"c\", cpu([](float) { return 1.0; })};", "void or consort_status"},
    {"span_by_reference", "const Codelet c{\"c\", cpu([](const std::span<float> &) {})};",
     "spans, matrices and the like by value"},
    {"implementations_differ", "const Codelet c{\"c\", cpu([](float) {}), cpu([](int) {})};",
     "take the same parameters"},
    {"elements_that_own", "std::vector<std::string> s; auto d = rt.vector(s);", "moved as bytes"},
    {"modes_by_their_names", "rt.submit(scale, readwrite(x), 1.f); rt.submit(scale, write(x), 1.f); rt.submit(look, read(fixed));", nullptr},
    {"named_read_of_a_vector", "std::vector<float> v; rt.submit(look, read(v));", "read(x): x is no datum"},
    {"named_write_of_const", "rt.submit(look, write(fixed));", "was registered as const"},
    {"choices_by_their_names",
     "rt.wait(Wait::no_help); rt.wait_all(Wait::no_help | Wait::keep_failure); x.prefetch(0, 1, Bring::room); "
     "(void)x.replica(0).has(Replica::valid);",
     nullptr},
    {"choice_of_another_call", "rt.wait(Replica::valid);", "Replica"},
    {"choice_by_a_c_constant", "rt.wait(CONSORT_WAIT_NO_HELP);", "give a value of the enum class", true},
    {"replica_by_its_bits", "(void)x.in(0);", "ask replica(space).has(consort::Replica::valid)", true},
    {"kernels",
     "const Codelet<void(float, std::span<float>)> k{\"k\", cpu([](float, std::span<float>) {}), cuda_source(\"{}\", \"k\", {.grid = over(arg(1)), "
     ".block = {256}, .args = {arg(1).ptr(), arg(1).size(0), arg(0)}}), hip_file(\"k.hip\", \"k\"), opencl_source(\"{}\", \"k\"), "
     "level_zero_file(\"k.spv\", \"k\"), cuda_ptx(\"{}\", \"k\"), cuda_file(\"k.cu\", \"k\", {.grid = 12})}; rt.submit(k, 1.f, rw(x));",
     nullptr},
    {"source_for_level_zero", "const Codelet k{\"k\", level_zero_source(\"{}\", \"k\")};", "Level Zero compiles no text"},
    {"launch_that_is_misspelt", "const Codelet k{\"k\", cuda_source(\"{}\", \"k\", {.gird = over(arg(0))})};", "consort::face::Launch"},
    {"number_for_an_argument", "const Codelet k{\"k\", cuda_source(\"{}\", \"k\", {.args = {0, 1.5}})};", "consort::face::Launch"},
    {"datum_of_a_grid", "const Codelet k{\"k\", cuda_source(\"{}\", \"k\", {.grid = arg(0)})};", "consort::face::Launch"},
    {"file_by_its_former_name", "const Codelet k{\"k\", opencl(\"k.cl\", \"k\"), cuda(\"k.cu\", \"k\")};", "consort::opencl_file(path, entry)", true},
    {"values",
     "const Codelet sum{\"sum\", cpu(returning([](std::span<const float> s) { return s[0]; }))}; Future<float> f = call(rt, sum, r(x)); "
     "float v = f.get(); Future<float> g = call(rt, {.priority = 3}, sum, r(x)); (void)v;",
     nullptr},
    {"copied_future", "const Codelet sum{\"sum\", cpu(returning([](int n) { return n; }))}; auto f = call(rt, sum, 1); auto g = f;", "Future"},
    {"value_of_a_codelet_without_one", "auto f = call(rt, look, r(x));", "call() takes a codelet that returns a value"},
    {"value_that_is_submitted", "const Codelet sum{\"sum\", cpu(returning([](int n) { return n; }))}; rt.submit(sum, 1);",
     "gives more or fewer data and arguments"},
    {"returning_nothing", "const Codelet no{\"no\", cpu(returning([](int) {}))};", "returning(): the function returns a value"},
    {"returning_generic", "auto f = returning([n = 0](int) mutable { return ++n; });", "returning(): the function has fixed parameter types and is const"},
    {"senders",
     "struct Takes { void set_value(float) && noexcept {} void set_error(std::exception_ptr) && noexcept {} void set_stopped() && noexcept {} }; "
     "const Codelet sum{\"sum\", cpu(returning([](std::span<const float> s) { return s[0]; }))}; "
     "auto op = sender(rt, {.priority = 3}, sum, r(x)).connect(Takes{}); op.start();",
     nullptr},
    {"receiver_of_no_value",
     "struct Takes { void set_value() && noexcept {} void set_error(std::exception_ptr) && noexcept {} void set_stopped() && noexcept {} }; "
     "const Codelet word{\"word\", cpu(returning([](int n) { return std::string(n, 'x'); }))}; auto op = sender(rt, word, 1).connect(Takes{});",
     "the receiver has no set_value() for what the task returns"},
    {"receiver_of_no_error",
     "struct Takes { void set_value() && noexcept {} void set_stopped() && noexcept {} }; auto op = sender(rt, look, r(x)).connect(Takes{});",
     "the receiver has no set_error(std::exception_ptr)"},
    {"receiver_of_no_stop",
     "struct Takes { void set_value() && noexcept {} void set_error(std::exception_ptr) && noexcept {} }; "
     "auto op = sender(rt, look, r(x)).connect(Takes{});",
     "the receiver has no set_stopped()"},
    {"sender_of_a_temporary_codelet", "auto s = sender(rt, Codelet{\"c\", cpu([](int) {})}, 1);", "deleted function"},
    {"sender_of_too_few", "struct Takes { void set_value() && noexcept {} void set_error(std::exception_ptr) && noexcept {} void set_stopped() && noexcept {} }; "
     "auto op = sender(rt, scale, rw(x)).connect(Takes{}); op.start();",
     "gives more or fewer data and arguments"},
    {"moved_operation",
     "struct Takes { void set_value() && noexcept {} void set_error(std::exception_ptr) && noexcept {} void set_stopped() && noexcept {} }; "
     "auto op = sender(rt, look, r(x)).connect(Takes{}); auto other = std::move(op);",
     "TaskOperation"},
    {"slices_of_views",
     "auto part = x.read().subspan(1); Held<std::span<const float>> &owner = part; auto line = m.acquire().line(2); line[0] = 1; "
     "auto held = x.acquire(); held.first(2)[1] = 3; (void)owner;",
     nullptr},
    {"writing_through_a_slice_of_a_read", "auto held = x.read(); held.subspan(1)[0] = 1;", "assignment of read-only location"},
    {"copied_slice_of_a_temporary", "auto part = x.read().subspan(1); auto other = part;", "Held"},
    {"callback_that_does_not_fit",
     "double a = 0, b = 0, c = 0; rt.submit({.done = [&a, &b, &c] { a = b + c; }}, look, r(x));", "give an lvalue"},
};

std::string compiler() {
  const char *named = std::getenv("CXX");
  return named && *named ? named : "c++";
}

std::string function_of(const Case &c) {
  return "#line 1 \"" + std::string(c.name) + "\"\nvoid " + c.name + "(Runtime &rt, Data<std::span<float>> &x, Data<std::span<int>> &ints, "
         "Data<std::span<const float>> &fixed,\n"
         "       Data<Matrix<float>> &m, Use<void, CONSORT_M_RW> token_use) {\n"
         "  const Codelet scale{\"scale\", cpu([](std::span<float>, float) {})};\n"
         "  const Codelet look{\"look\", cpu([](std::span<const float>) {})};\n"
         "  const Codelet zero{\"zero\", cpu([](std::span<float>) {})};\n"
         "  const Codelet add{\"add\", cpu([](std::span<float>, std::span<const float>) {})};\n"
         "  const Codelet whole{\"whole\", cpu([](Matrix<const float>) {})};\n"
         "  (void)ints, (void)fixed, (void)m, (void)token_use;\n  " + c.body + "\n}\n";
}

// The messages of the compiler for these functions, in one file.
int compile(const std::vector<const Case *> &cases, const std::filesystem::path &folder, std::string *output) {
  const std::string name = cases[0]->name;
  const auto source = folder / (name + ".cpp"), log = folder / (name + ".log");
  {
    std::ofstream text(source);
    text << "using namespace consort;\n";
    for (const Case *c : cases) text << function_of(*c);
  }
  const std::string command = compiler() + " -std=c++20 -fsyntax-only -I'" CONSORT_TEST_SOURCE_DIR "/../sdk/include' -include '" +
                              (folder / "all.hpp").string() + "' '" + source.string() + "' >'" + log.string() + "' 2>&1";
  const int status = std::system(command.c_str());
  *output = consort_test::read_file(log);
  return status;
}

TEST(WrongUse, FailsToCompileWithAMessage) {
  const consort_test::Folder folder("wrong-use", std::filesystem::temp_directory_path());
  // Compiled once: the headers take ten times as long as a case.
  std::ofstream(folder / "all.hpp") << "#include <consort/consort.hpp>\n#include <consort/future.hpp>\n#include <consort/sender.hpp>\n#include <functional>\n#include <string>\n#include <vector>\n";
  ASSERT_EQ(std::system((compiler() + " -std=c++20 -I'" CONSORT_TEST_SOURCE_DIR "/../sdk/include' -x c++-header '" + (folder / "all.hpp") +
                         "' -o '" + (folder / "all.hpp.gch") + "'").c_str()), 0);
  // Cases that compile come first. The others go into as few files as keep cases of the same message apart: the
  // compiler reports an error of a template once.
  std::vector<std::vector<const Case *>> files(1);
  for (const Case &c : kCases) {
    size_t at = !c.says || c.compiles ? 0 : 1;
    const auto is_said = [&](const Case *other) { return other->says == std::string_view(c.says); };
    while (at && at < files.size() && std::any_of(files[at].begin(), files[at].end(), is_said)) ++at;
    if (at == files.size()) files.emplace_back();
    files[at].push_back(&c);
  }
  std::vector<std::string> output(files.size());
  std::vector<int> status(files.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < files.size();) status[i] = compile(files[i], folder.path(), &output[i]);
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(status[0], 0) << output[0];
  for (size_t i = 0; i < files.size(); ++i)
    for (const Case *c : files[i]) {
      SCOPED_TRACE(c->name);
      EXPECT_TRUE(i == 0 || output[i].find(std::string(c->name) + ":") != std::string::npos) << "it compiles";
      EXPECT_TRUE(!c->says || output[i].find(c->says) != std::string::npos) << "not said: " << c->says;
    }
  if (HasFailure())
    for (const std::string &text : output) std::cout << text.substr(0, 20000) << '\n';
}

// A misspelt option: the line of the call and one of the header, not every overload that does not fit.
TEST(WrongUse, MisspeltOptionsAreToldInAFewLines) {
  const consort_test::Folder folder("misspelt", std::filesystem::temp_directory_path());
  const std::string source = folder / "misspelt.cpp", log = folder / "misspelt.log";
  std::ofstream(source) << "#include <consort/consort.hpp>\nvoid f(consort::Runtime &rt, consort::Data<std::span<float>> &x) {\n"
                           "  const consort::Codelet look{\"look\", consort::cpu([](std::span<const float>) {})};\n"
                           "  rt.submit({.prioritty = 3}, look, r(x));\n}\n";
  const std::string command = compiler() + " -std=c++20 -fsyntax-only -I'" CONSORT_TEST_SOURCE_DIR "/../sdk/include' '" + source + "' >'" + log + "' 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  const std::string said = consort_test::read_file(log);
  EXPECT_NE(said.find("misspelt_option_see_consort_Options"), std::string::npos) << said;
  EXPECT_NE(said.find(".prioritty = 3"), std::string::npos) << said;
  EXPECT_LT(std::count(said.begin(), said.end(), '\n'), 13) << said;
}

// One sentence instead of hundreds of lines about the library's own code.
TEST(WrongUse, RefusesOlderStandards) {
  const consort_test::Folder folder("old-standard", std::filesystem::temp_directory_path());
  const std::string source = folder / "old.cpp", log = folder / "old.log";
  std::ofstream(source) << "#include <consort/consort.hpp>\nint main() {}\n";
  const std::string command = compiler() + " -std=c++17 -fsyntax-only -I'" CONSORT_TEST_SOURCE_DIR "/../sdk/include' '" +
                              source + "' >'" + log + "' 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  const std::string said = consort_test::read_file(log);
  EXPECT_NE(said.find("needs C++20: compile with -std=c++20"), std::string::npos) << said;
  EXPECT_LT(std::count(said.begin(), said.end(), '\n'), 8) << said;
}

}  // namespace
