#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "command.hpp"
#include "system.hpp"

extern char **environ;

namespace dl4::tool::os {
namespace {

void (*on_signal)() = nullptr;

}  // namespace

std::vector<std::string> words(int count, char **given) { return {given + (count > 0), given + count}; }

void on_interrupt(void (*handler)()) {
  on_signal = handler;
  struct sigaction action {};
  action.sa_handler = [](int) { on_signal(); };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

FILE *open(const std::string &path, bool to_write) { return std::fopen(path.c_str(), to_write ? "wb" : "rb"); }

bool writable(const std::string &folder) { return access(folder.c_str(), W_OK | X_OK) == 0; }

std::string make_folder(const std::string &in) {
  std::string made = in + "/.dl4-XXXXXX";
  return mkdtemp(made.data()) ? made : "";
}

int64_t read_input(char *to, size_t n) {
  for (;;)
    if (const ssize_t got = read(STDIN_FILENO, to, n); got >= 0 || errno != EINTR) return got;
}

int64_t write_output(const char *from, size_t n) {
  for (;;)
    if (const ssize_t put = write(STDOUT_FILENO, from, n); put >= 0 || errno != EINTR) return put;
}

bool terminal() { return isatty(STDERR_FILENO) != 0; }

int64_t peak_memory() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return int64_t{use.ru_maxrss} * 1024;
}

std::optional<int> run(const std::vector<std::string> &words, const std::string &input) {
  const std::unique_ptr<FILE, int (*)(FILE *)> source(std::tmpfile(), std::fclose);
  if (!source || std::fwrite(input.data(), 1, input.size(), source.get()) != input.size() ||
      std::fflush(source.get()) != 0)
    throw Refusal(files, std::string("cannot write a temporary file: ") + std::strerror(errno));
  std::rewind(source.get());
  std::vector<std::string> own = words;
  std::vector<char *> arguments;
  for (std::string &word : own) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(source.get()), 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return std::nullopt;
  int status = 0;
  if (error == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::nullopt;
  return error == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace dl4::tool::os
