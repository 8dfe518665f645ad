// A command of dl4 as data: the one list from which help, the completion and the check of the man page come.
#pragma once

#include <dl4/dl4.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace dl4::tool {

// What the process ends with; the man page lists them.
enum Exit { done = 0, no = 1, usage = 2, files = 3, refused = 4, failed = 5, interrupted = 130 };

// Ends the command: the message goes to stderr as one line.
struct Refusal : std::runtime_error {
  Refusal(Exit exit, const std::string &message) : std::runtime_error(message), exit(exit) {}
  Exit exit;
};

// names: "-o,--output", or "FILE" of what is told by its place. value: what stands for it in help.
struct Option {
  const char *names, *value, *help;
  std::variant<bool *, int64_t *, double *, std::optional<double> *, std::string *, std::vector<std::string> *> to;
  bool required = false;
  int64_t least = 1;  // of an integer
};

struct Command {
  const char *name, *help;
  std::vector<Option> options;
  std::function<Exit()> run;
};

// What every command takes.
struct Common {
  bool json = false, strict = false;
  int64_t threads = 0, seed = 0;  // threads: 0 = the library's default
  std::string log;                // a level; "" = nothing is logged
  std::string tuning;             // a file; "" = computed figures
  const Context &context() const;
  Context context(const char *reproducible) const;  // one of its own

 private:
  mutable std::optional<Context> made_;
};

Command summary_command(const Common &common);
Command plot_command(const Common &common);
Command check_command(const Common &common);
Command convert_command(const Common &common);
Command run_command(const Common &common);
Command train_command(const Common &common);
Command eval_command(const Common &common);
Command bench_command(const Common &common);
Command diff_command(const Common &common);
Command gradcheck_command(const Common &common);
Command verify_command(const Common &common);
Command tune_command(const Common &common);
Command kinds_command(const Common &common);

// For bash, from the list.
std::string completion(const std::vector<Command> &commands);

}  // namespace dl4::tool
