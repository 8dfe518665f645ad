// dl4: the command. Options to one of the commands, refusals to stderr, an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "print.hpp"
#include "system.hpp"

namespace dl4::tool {
namespace {

CLI::Option *added(CLI::App &app, const Option &o) {
  if (const auto *flag = std::get_if<bool *>(&o.to)) return app.add_flag(o.names, **flag, o.help);
  return std::visit(
      [&]<class T>(T *to) {
        CLI::Option *option = app.add_option(o.names, *to, o.help);
        if constexpr (std::is_same_v<T, int64_t>)
          option->check(CLI::Range(o.least, std::numeric_limits<int64_t>::max()));
        if constexpr (std::is_same_v<T, std::vector<std::string>>) option->allow_extra_args(false);
        return option;
      },
      o.to);
}

void add_options(CLI::App &app, const std::vector<Option> &options) {
  for (const Option &o : options) {
    CLI::Option *option = added(app, o)->required(o.required);
    // What is told by its place is its own name.
    if (o.value[0]) option->type_name(o.value)->option_text(o.names[0] == '-' ? o.value : " ");
  }
}

std::vector<Option> common_options(Common &common) {
  return {{"--json", "", "one JSON document on standard output", &common.json},
          {"--threads", "N", "threads that work on a run; default: the cores of this process", &common.threads},
          {"--seed", "N", "start of all random numbers; default 0", &common.seed, false, 0},
          {"--tuning", "FILE", "what dl4 tune wrote on this machine: kernels are chosen by it", &common.tuning},
          {"--strict", "", "the same bits for any number of threads", &common.strict},
          {"--log", "LEVEL", "what happens, on standard error: warning, info or debug", &common.log}};
}

Exit exit_of(int32_t code) {
  switch (code) {
    case DL4_NOT_FOUND:
    case DL4_IO:
      return files;
    case DL4_OUT_OF_MEMORY:
    case DL4_NUMERIC:
    case DL4_INTERNAL:
      return failed;
    default:
      return refused;
  }
}

int complain(Exit exit, std::string message) {
  for (char &c : message)
    if (c == '\n') c = ' ';
  if (!message.empty()) std::fprintf(stderr, "dl4: %s\n", printable(message).c_str());
  return exit;
}

std::vector<std::string> names_of(const Option &o) {
  std::vector<std::string> names{""};
  for (const char *c = o.names; *c; ++c)
    if (*c == ',')
      names.emplace_back();
    else
      names.back() += *c;
  return names;
}

// What no command takes, before anything else that is wrong; "" where there is nothing.
std::string unexpected(const CLI::App &app, const std::vector<Command> &commands) {
  std::vector<std::string> rest = app.remaining(), known{"--help", "--version"};
  for (const Command &c : commands) {
    const CLI::App *one = app.get_subcommand(c.name);
    if (!one->parsed()) continue;
    if (!rest.empty()) return "option \"" + rest[0] + "\" must follow the command " + c.name;
    rest = one->remaining();
    known = {"--help"};
    for (const Option &o : c.options)
      for (const std::string &name : names_of(o)) known.push_back(name);
  }
  for (const std::string &word : rest) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with('-')) return "unknown option \"" + name + '"' + did_you_mean(name, known);
  }
  return rest.empty() ? "" : "unexpected argument \"" + rest[0] + '"';
}

void need_command(const std::vector<std::string> &words, const std::vector<Command> &commands) {
  if (words[0].starts_with('-')) return;
  std::vector<std::string> names;
  for (const Command &c : commands) names.emplace_back(c.name);
  if (std::find(names.begin(), names.end(), words[0]) == names.end())
    throw Refusal(usage, "unknown command \"" + words[0] + '"' + did_you_mean(words[0], names));
}

int run_main(std::vector<std::string> words) {
  Common common;
  std::vector<Command> commands;
  for (auto make : {summary_command, plot_command, check_command, convert_command, run_command, train_command,
                    eval_command, bench_command, diff_command, gradcheck_command, verify_command, tune_command})
    commands.push_back(make(common));
  for (Command &c : commands)
    for (const Option &o : common_options(common)) c.options.push_back(o);
  commands.push_back(kinds_command(common));
  commands.back().options.push_back(common_options(common)[0]);  // --json: the others are for runs
  commands.push_back({"completion", "prints the completion of these commands for bash", {}, [&commands] {
                        print(completion(commands));
                        return done;
                      }});
  CLI::App app{"Neural networks in files: look at, convert, run and train them. dl4 COMMAND --help says more.", "dl4"};
  app.set_version_flag("--version", "dl4 " + dl4::version());
  app.require_subcommand(1);
  for (const Command &c : commands) add_options(*app.add_subcommand(c.name, c.help), c.options);
  if (words.empty()) words = {"--help"};
  need_command(words, commands);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? done : usage;  // help, version
    const std::string other = unexpected(app, commands);
    return complain(usage, other.empty() ? error.what() : other);
  }
  if (!common.log.empty()) common.context();  // refused here, not as a model that does not load
  for (const Command &c : commands)
    if (app.got_subcommand(c.name)) return c.run();
  return usage;
}

}  // namespace
}  // namespace dl4::tool

int main(int count, char **words) {
  using namespace dl4::tool;
  try {
    return run_main(os::words(count, words));
  } catch (const Refusal &refusal) {
    return complain(refusal.exit, refusal.what());
  } catch (const dl4::Error &error) {
    return complain(exit_of(error.code), error.what());
  } catch (const std::bad_alloc &) {
    return complain(failed, "out of memory");
  } catch (const std::exception &error) {
    return complain(failed, error.what());
  }
}
