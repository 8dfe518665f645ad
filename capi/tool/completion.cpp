// The completion of bash, from the list of commands.
#include "command.hpp"

namespace dl4::tool {
namespace {

// "-o,--output" as two words; what is told by its place has none.
std::string words_of(const Option &o) {
  std::string words = o.names;
  if (words[0] != '-') return "";
  for (char &c : words)
    if (c == ',') c = ' ';
  return words + ' ';
}

}  // namespace

std::string completion(const std::vector<Command> &commands) {
  std::string names, cases, with_value;
  for (const Command &c : commands) {
    names += std::string(c.name) + ' ';
    std::string words = "--help ";
    for (const Option &o : c.options) {
      const std::string name = words_of(o), value = o.value;
      words += name;
      // A number or a kind: there is no file to offer.
      const bool other = !name.empty() && !value.empty() && value.find("FILE") == value.npos;
      if (other && with_value.find(name) == with_value.npos) with_value += name;
    }
    words.pop_back();
    cases += std::string("    ") + c.name + ") words=\"" + words + "\" ;;\n";
  }
  names.pop_back();
  std::string bare;
  for (char c : with_value) bare += c == ' ' ? '|' : c;
  if (!bare.empty()) bare.pop_back();
  return "# bash completion of dl4; made by \"dl4 completion\".\n"
         "_dl4() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         " --help --version\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $before in\n"
         "    " +
         bare +
         ") COMPREPLY=(); return ;;\n"
         "  esac\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "    *) words= ;;\n"
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _dl4 dl4\n";
}

}  // namespace dl4::tool
