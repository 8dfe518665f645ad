#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "system.hpp"

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

}  // namespace dl4::tool::os
