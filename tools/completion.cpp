// The scripts know commands, options and values from the parser's definitions. Names of plugins, settings and models come from
// this command (`consort completion plugins`), which loads plugins only for settings.
#include "completion.hpp"

#include <consort/model.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <set>
#include <vector>

#include "catalog.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Option {
  std::vector<std::string> names;                  // "-v", "--verbose"; a positional: none
  std::string about;
  // "": no value; "file", "folder", "any"; "words a b"; "ask plugins": words of `consort completion plugins`
  std::string value;
};
struct Command {
  std::string path, name, about;                   // "model show", "show"
  std::vector<Option> options, operands;
  std::vector<const Command *> below;
};

std::string value_of(const std::string &type, const std::string &path) {
  if (type == "FILE" || type == "PROGRAM") return "file";
  if (type == "FOLDER") return "folder";
  if (type == "KEY=VALUE" || type == "NAME.KEY=VALUE") return "ask settings";
  if (type == "COMMAND") return "ask commands";
  if (type == "SHELL") return "words bash zsh fish";
  if (type == "KIND" && path == "new") return "words scheduler driver interface transport";
  if (type == "NAME" && path.starts_with("model ")) return "ask models";
  if (type == "NAME" && (path == "why-not" || path == "sim")) return "ask plugins";
  if (type.find('|') == type.npos) return "any";
  std::string words = "words " + type;
  for (char &c : words)
    if (c == '|') c = ' ';
  return words;
}

Option option_of(const CLI::Option &o, const std::string &path) {
  Option option{{}, o.get_description(), {}};
  for (const std::string &s : o.get_snames()) option.names.push_back("-" + s);
  for (const std::string &l : o.get_lnames()) option.names.push_back("--" + l);
  if (option.names.empty()) option.value = value_of(path == "conform" ? "FILE" : o.get_name(true, false), path);
  else if (o.get_items_expected_max() > 0) option.value = value_of(o.get_type_name(), path);
  return option;
}

// Preorder: the program first, then its commands, each before its subcommands.
void collect(const CLI::App &app, const std::string &path, std::vector<Command> *all) {
  Command c{path, path.empty() ? "consort" : app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option *o : app.get_options()) {
    Option option = option_of(*o, path);
    (option.names.empty() ? c.operands : c.options).push_back(std::move(option));
  }
  all->push_back(std::move(c));
  for (const CLI::App *sub : app.get_subcommands({}))
    if (!sub->get_group().empty()) collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
}

std::vector<const Command *> below(const std::vector<Command> &all, const Command &c) {
  std::vector<const Command *> out;
  for (const Command &other : all)
    if (&other != &c && other.path == (c.path.empty() ? other.name : c.path + " " + other.name)) out.push_back(&other);
  return out;
}

std::string in_quotes(const std::string &text) {      // for all three shells
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Common part of bash and zsh: finds the command in the line, and the kind of an option's value.
std::string tables(const std::vector<Command> &all) {
  std::string s = "_consort_value() {  # COMMAND OPTION: the kind of its value; nothing: it has none\n  case \"$1 $2\" in\n";
  for (const Command &c : all)
    for (const Option &o : c.options)
      for (const std::string &name : o.names)
        if (!o.value.empty()) s += "    " + (c.path.empty() ? "*" + in_quotes(" " + name) : in_quotes(c.path + " " + name)) + ") echo " + in_quotes(o.value) + " ;;\n";
  s += "  esac\n}\n_consort_operand() {  # COMMAND: the kind of its operands\n  case \"$1\" in\n";
  for (const Command &c : all)
    if (!c.operands.empty()) s += "    " + in_quotes(c.path) + ") echo " + in_quotes(c.operands[0].value) + " ;;\n";
  s += "  esac\n}\n_consort_is_command() {  # COMMAND WORD: is that a command below it?\n  case \"$1 $2\" in\n";
  for (const Command &c : all)
    for (const Command *sub : below(all, c)) s += "    " + in_quotes(c.path + " " + sub->name) + ") return 0 ;;\n";
  return s + "  esac\n  return 1\n}\n";
}

std::string bash(const std::vector<Command> &all) {
  std::string s = "# bash completion of consort, made by `consort completion bash`\n" + tables(all);
  s += "_consort_words() {  # COMMAND: its commands and options\n  case \"$1\" in\n";
  for (const Command &c : all) {
    std::string words;
    for (const Command *sub : below(all, c)) words += sub->name + " ";
    for (const Option &o : c.options)
      for (const std::string &name : o.names) words += name + " ";
    s += "    " + in_quotes(c.path) + ") echo " + in_quotes(words) + " ;;\n";
  }
  s += R"_(  esac
}
_consort() {
  local current=${COMP_WORDS[COMP_CWORD]} previous= command= i word kind words
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    [[ $word == -- && $command == sim ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
    if [[ -z $(_consort_value "$command" "$previous") ]] && _consort_is_command "$command" "$word"; then
      command=${command:+$command }$word
    fi
    previous=$word
  done
  kind=$(_consort_value "$command" "$previous")
  if [[ -z $kind && $current != -* ]]; then
    kind=$(_consort_operand "$command")
    words=$(_consort_words "$command")
  fi
  [[ $current == -* ]] && words="$(_consort_words "$command") $(_consort_words '')"
  case $kind in
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return ;;
    folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$current")); return ;;
    words\ *) words=${kind#words } ;;
    'ask settings') compopt -o nospace 2>/dev/null; words=$(consort completion settings 2>/dev/null) ;;
    ask\ *) words=$(consort completion "${kind#ask }" 2>/dev/null) ;;
    any) words= ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _consort consort
)_";
  return s;
}

std::string described(const std::string &name, const std::string &about) {
  std::string escaped;
  for (const char c : name) escaped += c == ':' ? "\\:" : std::string(1, c);
  return in_quotes(escaped + ":" + about);
}

std::string zsh(const std::vector<Command> &all) {
  std::string s = "#compdef consort\n# zsh completion of consort, made by `consort completion zsh`\n" + tables(all);
  s += "_consort_list() {  # COMMAND: fills commands and options, each NAME:DESCRIPTION\n  case \"$1\" in\n";
  for (const Command &c : all) {
    s += "    " + in_quotes(c.path) + ")\n      commands=(";
    for (const Command *sub : below(all, c)) s += "\n        " + described(sub->name, sub->about);
    s += ")\n      options+=(";
    for (const Option &o : c.options)
      for (const std::string &name : o.names) s += "\n        " + described(name, o.about);
    s += ") ;;\n";
  }
  s += R"_(  esac
}
_consort() {
  local previous= command= i word kind
  local -a commands options
  for ((i = 2; i < CURRENT; ++i)); do
    word=$words[i]
    [[ $word == -- && $command == sim ]] && { _files; return; }
    if [[ -z $(_consort_value "$command" "$previous") ]] && _consort_is_command "$command" "$word"; then
      command=${command:+$command }$word
    fi
    previous=$word
  done
  kind=$(_consort_value "$command" "$previous")
  if [[ -z $kind ]]; then
    _consort_list ''
    [[ -n $command ]] && _consort_list "$command"
    if [[ $words[CURRENT] == -* ]]; then _describe option options; return; fi
    (( $#commands )) && _describe command commands && return
    kind=$(_consort_operand "$command")
  fi
  case $kind in
    file) _files ;;
    folder) _files -/ ;;
    words\ *) compadd -- ${=kind#words } ;;
    'ask settings') compadd -S '' -- ${(f)"$(consort completion settings 2>/dev/null)"} ;;
    ask\ *) compadd -- ${(f)"$(consort completion ${kind#ask } 2>/dev/null)"} ;;
  esac
}
if [[ $funcstack[1] == _consort ]]; then _consort "$@"; else compdef _consort consort; fi
)_";
  return s;
}

std::string fish(const std::vector<Command> &all) {
  std::string s = R"_(# fish completion of consort, made by `consort completion fish`
function __consort_at  # the commands on the line are these
    set -l tokens (commandline -opc)[2..]
    set -l found
    for t in $tokens
        string match -q -- '-*' $t; or set -a found $t
    end
    test (count $found) -ge (count $argv); or return 1
    for i in (seq (count $argv))
        test "$found[$i]" = "$argv[$i]"; or return 1
    end
end
function __consort_no_command
    __consort_at; and not __fish_seen_subcommand_from )_";
  for (const Command *c : below(all, all[0])) s += c->name + " ";
  s += "\nend\ncomplete -c consort -f\n";
  const auto value = [](const std::string &kind) -> std::string {
    if (kind == "file") return " -r -F";
    if (kind == "folder") return " -x -a '(__fish_complete_directories)'";
    if (kind.starts_with("words ")) return " -x -a " + in_quotes(kind.substr(6));
    if (kind.starts_with("ask ")) return " -x -a '(consort completion " + kind.substr(4) + " 2>/dev/null)'";
    return kind.empty() ? "" : " -x";
  };
  for (const Command &c : all) {
    const std::string here = "complete -c consort -n '__consort_at " + c.path + "'";
    for (const Command *sub : below(all, c))
      s += "complete -c consort -n '" + (c.path.empty() ? "__consort_no_command" : "__consort_at " + c.path) + "' -a " + sub->name + " -d " + in_quotes(sub->about) + "\n";
    for (const Option &o : c.options) {
      std::string names;
      for (const std::string &n : o.names) names += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      s += here + names + value(o.value) + " -d " + in_quotes(o.about) + "\n";
    }
    if (c.operands.empty()) continue;
    const std::string &kind = c.operands[0].value;
    if (kind == "file") s += here + " -F\n";
    else if (kind.starts_with("words ")) s += here + " -a " + in_quotes(kind.substr(6)) + "\n";
    else if (kind.starts_with("ask ")) s += here + " -a '(consort completion " + kind.substr(4) + " 2>/dev/null)'\n";
  }
  return s;
}

// False: unknown kind of words.
bool print_words(Settings &settings, const CLI::App &app, const std::string &kind) {
  consort_settings s;
  if (!settings.resolve(&s)) return true;
  s.log = [](void *, int32_t, const char *) {};
  std::set<std::string> words;
  if (kind == "commands") {
    for (const CLI::App *c : app.get_subcommands({}))
      if (!c->get_group().empty()) words.insert(c->get_name());
  } else if (kind == "plugins") {
    (void)consort_list_plugins(&s, 0, [](void *user, const consort_plugin_row *r) {
      static_cast<std::set<std::string> *>(user)->insert(r->name);
    }, &words);
  } else if (kind == "settings") {
    Examination examination;
    for (const SettingRow &row : take_catalog(settings, examination, Of::kSettings).settings) words.insert(row.key + "=");
  } else if (kind == "models") {
    (void)consort_list_models(&s, [](void *user, const consort_model_file *f) {
      if (!*f->reason) static_cast<std::set<std::string> *>(user)->insert(f->name);
    }, [](void *, const consort_model_row *) {}, &words);
  } else {
    return false;
  }
  for (const std::string &w : words) std::printf("%s\n", printable(w).c_str());
  return true;
}

}  // namespace

int run_completion(Settings &settings, const CLI::App &app, const std::string &shell) {
  if (print_words(settings, app, shell)) return 0;
  std::vector<Command> all;
  collect(app, "", &all);
  if (shell == "bash") return std::fputs(bash(all).c_str(), stdout), 0;
  if (shell == "zsh") return std::fputs(zsh(all).c_str(), stdout), 0;
  if (shell == "fish") return std::fputs(fish(all).c_str(), stdout), 0;
  return complain("there is no completion for \"" + shell + "\"" + did_you_mean(shell, {"bash", "zsh", "fish"}) + ": bash, zsh, fish", 2);
}

}  // namespace tool
