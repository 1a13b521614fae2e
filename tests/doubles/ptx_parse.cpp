#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "ptx.hpp"

namespace ptx {

namespace {

struct Error {
  std::string words;
  uint32_t line;
};

struct Token {
  std::string text;  // empty: the end
  uint32_t line = 0;
};

const std::map<std::string, Type, std::less<>> types = {
    {"b8", Type::b8},   {"b16", Type::b16}, {"b32", Type::b32}, {"b64", Type::b64}, {"u8", Type::u8},
    {"u16", Type::u16}, {"u32", Type::u32}, {"u64", Type::u64}, {"s8", Type::s8},   {"s16", Type::s16},
    {"s32", Type::s32}, {"s64", Type::s64}, {"f32", Type::f32}, {"f64", Type::f64}, {"pred", Type::pred}};

const std::map<std::string, Op, std::less<>> ops = {
    {"mov", Op::mov},    {"cvta", Op::cvta},   {"ld", Op::ld},       {"ldu", Op::ld},    {"st", Op::st},
    {"add", Op::add},    {"sub", Op::sub},     {"mul", Op::mul},     {"mad", Op::mad},   {"fma", Op::fma},
    {"div", Op::div},    {"rem", Op::rem},     {"min", Op::min},     {"max", Op::max},   {"neg", Op::neg},
    {"abs", Op::abs},    {"not", Op::bit_not}, {"and", Op::bit_and}, {"or", Op::bit_or}, {"xor", Op::bit_xor},
    {"shl", Op::shl},    {"shr", Op::shr},     {"setp", Op::setp},   {"selp", Op::selp}, {"bra", Op::bra},
    {"cvt", Op::cvt},    {"ret", Op::ret},     {"exit", Op::ret},    {"bar", Op::bar},   {"barrier", Op::bar},
    {"sqrt", Op::sqrt},  {"rcp", Op::rcp},     {"rsqrt", Op::rsqrt}, {"atom", Op::atom}, {"red", Op::atom},
    {"membar", Op::nop}, {"fence", Op::nop}};

const std::map<std::string, Space, std::less<>> spaces = {
    {"global", Space::global}, {"shared", Space::shared}, {"local", Space::local}, {"param", Space::param}};
const std::map<std::string, Mode, std::less<>> modes = {{"lo", Mode::lo}, {"hi", Mode::hi}, {"wide", Mode::wide}};
const std::map<std::string, Round, std::less<>> rounds = {
    {"rni", Round::even}, {"rzi", Round::zero}, {"rmi", Round::down}, {"rpi", Round::up}};
const std::map<std::string, Compare, std::less<>> compares = {
    {"eq", Compare::eq},   {"ne", Compare::ne},   {"lt", Compare::lt},   {"le", Compare::le},   {"gt", Compare::gt},
    {"ge", Compare::ge},   {"lo", Compare::lt},   {"ls", Compare::le},   {"hi", Compare::gt},   {"hs", Compare::ge},
    {"equ", Compare::equ}, {"neu", Compare::neu}, {"ltu", Compare::ltu}, {"leu", Compare::leu}, {"gtu", Compare::gtu},
    {"geu", Compare::geu}, {"num", Compare::num}, {"nan", Compare::nan}};
// These change nothing here: how it is rounded, cached or seen by others.
const char *const harmless[] = {"rn",      "ftz",     "approx",  "full",    "uni", "nc",    "ca",
                                "cg",      "cs",      "cv",      "wb",      "wt",  "lu",    "volatile",
                                "relaxed", "acquire", "release", "cta",     "gpu", "sys",   "weak",
                                "sync",    "aligned", "gl",      "acq_rel", "sc",  "noftz", "const"};

std::vector<Token> tokens_of(const std::string &text) {
  std::vector<Token> all;
  uint32_t line = 1;
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c); };
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '\0') break;
    if (c == '\n') all.push_back({"\n", line++});
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      size_t end = std::min(text.find("*/", i), text.size());
      line += static_cast<uint32_t>(
          std::count(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(end), '\n'));
      i = end + 2;
    } else {
      size_t end = i + 1;
      if (c == '"') {
        end = std::min(text.find('"', end), text.size() - 1) + 1;
      } else if (word(c)) {
        while (end < text.size() && text[end] && word(text[end])) ++end;
      }
      all.push_back({text.substr(i, end - i), line});
      i = end;
    }
  }
  all.push_back({"", line});
  return all;
}

constexpr size_t kMostRegisters = 16384;
constexpr uint64_t kMostBytes = 1 << 30;  // of a parameter, of memory of a block or of a thread

class Parser {
 public:
  Parser(std::vector<Token> all, std::vector<Entry> &out) : tokens(std::move(all)), entries(out) {}

  void program() {
    while (!peek().text.empty()) {
      Token token = take();
      if (token.text == ".version" || token.text == ".target" || token.text == ".address_size" ||
          token.text == ".file") {
        to_line_end();
      } else if (token.text == ".entry") {
        entry();
      } else if (token.text == ".shared") {
        variable(Operand::shared_at, shared_all);
      } else if (token.text == ".func") {
        function(token.line);
      } else if (token.text != ".visible" && token.text != ".weak" && token.text != ".extern") {
        throw Error{"\"" + token.text + "\" is not known here", token.line};
      }
    }
  }

 private:
  std::vector<Token> tokens;
  size_t at = 0;
  std::vector<Entry> &entries;
  Entry *now = nullptr;
  std::map<std::string, uint32_t> registers, labels;
  std::map<std::string, Operand> symbols, shared_symbols;
  size_t shared_all = 0;
  bool dynamic_all = false;
  std::vector<std::pair<size_t, std::string>> jumps;

  const Token &peek() {
    while (tokens[at].text == "\n") ++at;
    return tokens[at];
  }
  Token take() {
    Token token = peek();
    if (!token.text.empty()) ++at;
    return token;
  }
  bool accept(std::string_view text) {
    bool is = peek().text == text;
    if (is) ++at;
    return is;
  }
  void expect(std::string_view text) {
    Token token = take();
    if (token.text != text)
      throw Error{"\"" + token.text + "\" stands where " + std::string(text) + " should", token.line};
  }
  void to_line_end() {
    while (!tokens[at].text.empty() && tokens[at].text != "\n") ++at;
  }
  uint64_t number() {
    bool minus = accept("-");
    Token token = take();
    const std::string &t = token.text;
    char *end = nullptr;
    uint64_t value;
    if (t.size() == 10 && (t.starts_with("0f") || t.starts_with("0F"))) {
      value = std::strtoull(t.c_str() + 2, &end, 16);
    } else if (t.size() == 18 && (t.starts_with("0d") || t.starts_with("0D"))) {
      value = std::strtoull(t.c_str() + 2, &end, 16);
    } else {
      value = std::strtoull(t.c_str(), &end, 0);
      if (end && *end == 'U') ++end;
    }
    if (t.empty() || *end) throw Error{"\"" + t + "\" is no number", token.line};
    return minus ? ~value + 1 : value;
  }
  // A size or an alignment: sums of these do not overflow.
  uint64_t bounded(uint64_t bytes, uint32_t line) {
    if (bytes > kMostBytes) throw Error{std::to_string(bytes) + " bytes are more than there can be", line};
    return bytes;
  }
  uint64_t size_number() { return bounded(number(), tokens[at].line); }
  Type type() {
    Token token = take();
    auto found = token.text.starts_with(".") ? types.find(std::string_view(token.text).substr(1)) : types.end();
    if (found == types.end()) throw Error{"type " + token.text + " is not known", token.line};
    return found->second;
  }

  // [.align N] .type name[N]; memory of a block or of a thread
  void variable(Operand::Kind kind, size_t &used) {
    size_t align = accept(".align") ? size_number() : 0;
    Type of = type();
    align = std::max(align, size_of(of));
    do {
      std::string name = take().text;
      size_t count = 1;
      bool open = false;
      while (accept("[")) {
        open = peek().text == "]";
        count = bounded(count * (open ? 0 : size_number()), tokens[at].line);
        expect("]");
      }
      Operand operand;
      operand.kind = kind;
      if (open) {  // the launch's shared memory, behind all others
        operand.index = 1;
        dynamic_all = true;
      } else {
        used = (used + align - 1) / align * align;
        operand.value = used;
        used = bounded(used + count * size_of(of), tokens[at].line);
      }
      (now ? symbols : shared_symbols)[name] = operand;
    } while (accept(","));
    expect(";");
  }

  void parameters() {
    size_t offset = 0;
    while (!accept(")")) {
      accept(",");
      expect(".param");
      size_t align = accept(".align") ? size_number() : 0;
      Type of = type();
      while (accept(".ptr") || accept(".global") || accept(".shared") || accept(".const")) {
      }
      if (accept(".align")) number();
      Param param{take().text, size_of(of), 0, of == Type::u64 || of == Type::b64 || of == Type::s64};
      if (accept("[")) {
        param.size = bounded(param.size * size_number(), tokens[at].line);
        param.pointer = param.size >= 8;
        expect("]");
      }
      align = std::max(align, size_of(of));
      offset = param.offset = (offset + align - 1) / align * align;
      offset = bounded(offset + param.size, tokens[at].line);
      Operand operand;
      operand.kind = Operand::param_at;
      operand.index = static_cast<uint32_t>(now->params.size());
      symbols[param.name] = operand;
      now->params.push_back(std::move(param));
    }
  }

  // Skipped: compilers put one in for cases that never happen, and a call of any is refused.
  void function(uint32_t line) {
    for (int depth = 0;;) {
      Token token = take();
      if (token.text.empty()) throw Error{"the program ends in the middle of a function", line};
      depth += (token.text == "{") - (token.text == "}");
      if (!depth && (token.text == "}" || token.text == ";")) return;
    }
  }

  void entry() {
    now = &entries.emplace_back();
    registers.clear(), labels.clear(), jumps.clear();
    symbols = shared_symbols;
    now->shared = shared_all;
    now->name = take().text;
    if (accept("(")) parameters();
    while (!accept("{")) {
      Token token = take();
      if (token.text.empty()) throw Error{"the program ends in the middle", token.line};
      if (token.text == ".maxntid" || token.text == ".reqntid") {
        uint64_t most = number();
        while (accept(",")) most *= number();
        now->max_threads = static_cast<int>(std::min<uint64_t>(most, 1024));
      }
    }
    for (int depth = 1; depth;) {
      if (accept("{")) {
        ++depth;
      } else if (accept("}")) {
        --depth;
      } else {
        statement();
      }
    }
    for (auto &[instruction, label] : jumps) {
      auto found = labels.find(label);
      if (found == labels.end()) throw Error{"there is no label " + label, now->code[instruction].line};
      now->code[instruction].target = found->second;
    }
    now->registers = registers.size();
    now->dynamic_shared = dynamic_all;
    now = nullptr;
  }

  void statement() {
    Token token = take();
    if (token.text.empty()) throw Error{"the program ends in the middle", token.line};
    if (token.text == ".reg") {
      type();
      do {
        std::string name = take().text;
        if (accept("<")) {
          uint64_t count = number();
          if (count > kMostRegisters || registers.size() > kMostRegisters) throw Error{"so many registers are none", token.line};
          for (uint64_t i = 0; i < count; ++i) add_register(name + std::to_string(i));
          expect(">");
        } else {
          add_register(name);
        }
      } while (accept(","));
      expect(";");
    } else if (token.text == ".shared") {
      variable(Operand::shared_at, now->shared);
    } else if (token.text == ".local") {
      variable(Operand::local_at, now->local);
    } else if (token.text == ".loc") {
      to_line_end();
    } else if (token.text == ".pragma") {
      while (!accept(";"))
        if (take().text.empty()) throw Error{"the program ends in the middle", token.line};
    } else if (accept(":")) {
      labels[token.text] = static_cast<uint32_t>(now->code.size());
    } else {
      instruction(token);
    }
  }

  void add_register(const std::string &name) { registers.emplace(name, static_cast<uint32_t>(registers.size())); }

  void instruction(Token token) {
    Instruction made;
    if (token.text == "@") {
      made.negated = accept("!");
      const Operand predicate = operand();
      if (predicate.kind != Operand::reg) throw Error{"a predicate that is no register", token.line};
      made.predicate = static_cast<int32_t>(predicate.index);
      token = take();
    }
    made.line = token.line;
    words(token, made);
    if (made.op == Op::bra) {
      jumps.emplace_back(now->code.size(), take().text);
      expect(";");
    } else {
      while (!accept(";")) {
        if (!made.operands.empty()) expect(",");
        list(made);
      }
    }
    check(made, token.text);
    now->code.push_back(std::move(made));
  }

  // ld.global.nc.f32: the operation, and the meaning of each word behind it
  void words(const Token &token, Instruction &made) {
    std::string_view rest = token.text;
    auto next = [&] {
      size_t dot = rest.find('.');
      std::string_view word = rest.substr(0, dot);
      rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
      return word;
    };
    std::string_view name = next();
    auto op = ops.find(name);
    if (op == ops.end()) throw Error{"instruction " + token.text + " is not known", token.line};
    made.op = op->second;
    bool compared = false, atomic = false;
    while (!rest.empty()) {
      std::string_view word = next();
      word = word.substr(0, word.find(':'));
      if (auto t = types.find(word); t != types.end()) {
        (made.typed ? made.from : made.type) = t->second;
        made.from = made.typed ? made.from : t->second;
        made.typed = true;
      } else if (auto space = spaces.find(word); space != spaces.end()) {
        made.space = space->second;
      } else if (auto compare = compares.find(word); made.op == Op::setp && !compared && compare != compares.end()) {
        made.compare = compare->second;
        compared = true;
      } else if (auto mode = modes.find(word); mode != modes.end()) {
        made.mode = mode->second;
      } else if (auto round = rounds.find(word); round != rounds.end()) {
        made.round = round->second;
      } else if (word == "to" && made.op == Op::cvta) {
        made.to = true;
      } else if ((word == "v2" || word == "v4") && (made.op == Op::ld || made.op == Op::st)) {
        made.lanes = word == "v2" ? 2 : 4;
      } else if (word == "add" && made.op == Op::atom) {
        atomic = true;
      } else if (std::find(std::begin(harmless), std::end(harmless), word) == std::end(harmless)) {
        throw Error{"\"" + std::string(word) + "\" of instruction " + token.text + " is not known", token.line};
      }
    }
    made.single = name == "red";  // which has no result
    if ((made.op == Op::setp && !compared) || (made.op == Op::atom && !atomic)) {
      throw Error{"instruction " + token.text + " is not known", token.line};
    }
  }

  void check(const Instruction &made, const std::string &name) {
    static const std::map<Op, size_t> counts = {
        {Op::mov, 2},  {Op::cvta, 2}, {Op::add, 3},   {Op::sub, 3},     {Op::mul, 3},
        {Op::mad, 4},  {Op::fma, 4},  {Op::div, 3},   {Op::rem, 3},     {Op::min, 3},
        {Op::max, 3},  {Op::neg, 2},  {Op::abs, 2},   {Op::bit_not, 2}, {Op::bit_and, 3},
        {Op::shl, 3},  {Op::shr, 3},  {Op::setp, 3},  {Op::selp, 4},    {Op::cvt, 2},
        {Op::sqrt, 2}, {Op::rcp, 2},  {Op::rsqrt, 2}, {Op::bit_or, 3},  {Op::bit_xor, 3}};
    auto found = counts.find(made.op);
    size_t count = found != counts.end()                    ? found->second
                   : made.op == Op::ld || made.op == Op::st ? made.lanes + 1
                   : made.op == Op::atom                    ? (made.single ? 2 : 3)
                                                            : made.operands.size();
    bool wants_type = made.op != Op::bra && made.op != Op::ret && made.op != Op::bar && made.op != Op::nop;
    bool writes = found != counts.end() || made.op == Op::ld || (made.op == Op::atom && !made.single);
    bool wrong = made.operands.size() != count || (wants_type && !made.typed);
    for (size_t i = 0; writes && !wrong && i < (made.op == Op::ld ? made.lanes : 1); ++i) {
      wrong = made.operands[i].kind != Operand::reg;
    }
    if (wrong) throw Error{"the operands of " + name + " are of a form that is not known", made.line};
  }

  void list(Instruction &made) {  // an operand, one in brackets, or several in braces
    if (accept("{")) {
      do {
        made.operands.push_back(operand());
      } while (accept(","));
      expect("}");
    } else if (accept("[")) {
      made.operands.push_back(operand());
      Operand offset;
      offset.kind = Operand::number;
      bool minus = peek().text == "-";
      if (minus || accept("+")) offset.value = number();
      Operand &base = made.operands.back();
      if (base.kind == Operand::reg) {
        base.value = offset.value;
      } else {
        base.value += offset.value;
      }
      expect("]");
    } else {
      made.operands.push_back(operand());
    }
  }

  Operand operand() {
    Operand made;
    const Token &token = peek();
    if (token.text == "-" || std::isdigit(static_cast<unsigned char>(token.text[0]))) {
      made.kind = Operand::number;
      made.value = number();
      return made;
    }
    Token name = take();
    if (auto found = registers.find(name.text); found != registers.end()) {
      made.kind = Operand::reg;
      made.index = found->second;
      return made;
    }
    if (auto found = symbols.find(name.text); found != symbols.end()) return found->second;
    size_t dot = name.text.find('.');
    const char *const specials[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};
    auto special = std::find(std::begin(specials), std::end(specials), name.text.substr(0, dot));
    if (special != std::end(specials) && dot + 2 == name.text.size() && std::strchr("xyz", name.text[dot + 1])) {
      made.kind = Operand::special;
      made.index = static_cast<uint32_t>(3 * (special - specials) + (name.text[dot + 1] - 'x'));
      return made;
    }
    if (name.text == "%laneid") {
      made.kind = Operand::special;
      made.index = 3 * static_cast<uint32_t>(Special::laneid);
      return made;
    }
    throw Error{"\"" + name.text + "\" is not known", name.line};
  }
};

}  // namespace

size_t size_of(Type type) {
  constexpr size_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1};
  return sizes[static_cast<size_t>(type)];
}

bool is_float(Type type) { return type == Type::f32 || type == Type::f64; }

bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }

bool parse(const std::string &text, std::vector<Entry> &entries, std::string &error) {
  try {
    Parser(tokens_of(text), entries).program();
    return true;
  } catch (const Error &wrong) {
    error = "ptx input, line " + std::to_string(wrong.line) + "; error: " + wrong.words;
    return false;
  }
}

}  // namespace ptx
