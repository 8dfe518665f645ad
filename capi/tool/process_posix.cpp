#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "command.hpp"
#include "system.hpp"

extern char **environ;

namespace dl4::tool::os {

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
