#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <windows.h>
// Behind it:
#include <psapi.h>
#include <shellapi.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "command.hpp"
#include "system.hpp"

namespace dl4::tool::os {
namespace {

void (*on_signal)() = nullptr;

std::wstring wide(const std::string &utf8) {
  const int n = MultiByteToWideChar(CP_UTF8, 0, utf8.data(), static_cast<int>(utf8.size()), nullptr, 0);
  std::wstring made(static_cast<size_t>(n), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), static_cast<int>(utf8.size()), made.data(), n);
  return made;
}

std::string narrow(const wchar_t *text) {
  const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);  // with the NUL
  std::string made(static_cast<size_t>(std::max(n, 1)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, made.data(), n, nullptr, nullptr);
  made.pop_back();
  return made;
}

// As the C library of the program called reads it.
std::wstring quoted(const std::wstring &word) {
  std::wstring made = L"\"";
  size_t backslashes = 0;
  for (wchar_t c : word) {
    if (c == L'"') made.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    made += c;
  }
  return made.append(backslashes, L'\\') + L'"';
}

}  // namespace

std::vector<std::string> words(int, char **) {
  _setmode(0, _O_BINARY);
  _setmode(1, _O_BINARY);
  int count = 0;
  const std::unique_ptr<LPWSTR, HLOCAL (*)(HLOCAL)> all(CommandLineToArgvW(GetCommandLineW(), &count), LocalFree);
  std::vector<std::string> made;
  for (int i = 1; i < count; ++i) made.push_back(narrow(all.get()[i]));
  return made;
}

void on_interrupt(void (*handler)()) {
  on_signal = handler;
  std::signal(SIGINT, [](int) { on_signal(); });  // which is the default again when it is called
}

FILE *open(const std::string &path, bool to_write) { return _wfopen(wide(path).c_str(), to_write ? L"wb" : L"rb"); }

bool writable(const std::string &folder) { return _waccess(wide(folder).c_str(), 2) == 0; }

std::string make_folder(const std::string &in) {
  for (DWORD i = 0; i < 100; ++i) {
    const std::string made = in + "/.dl4-" + std::to_string(GetCurrentProcessId()) + '-' + std::to_string(i);
    if (CreateDirectoryW(wide(made).c_str(), nullptr)) return made;
    if (const DWORD error = GetLastError(); error != ERROR_ALREADY_EXISTS) {
      errno = error == ERROR_PATH_NOT_FOUND ? ENOENT : EACCES;
      return "";
    }
  }
  errno = EEXIST;
  return "";
}

int64_t read_input(char *to, size_t n) { return _read(0, to, static_cast<unsigned>(std::min<size_t>(n, 1 << 30))); }

int64_t write_output(const char *from, size_t n) {
  return _write(1, from, static_cast<unsigned>(std::min<size_t>(n, 1 << 30)));
}

bool terminal() { return _isatty(2) != 0; }

int64_t peak_memory() {
  PROCESS_MEMORY_COUNTERS use{};
  return GetProcessMemoryInfo(GetCurrentProcess(), &use, sizeof use) ? static_cast<int64_t>(use.PeakWorkingSetSize) : 0;
}

std::optional<int> run(const std::vector<std::string> &words, const std::string &input) {
  wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
  FILE *opened = nullptr;
  if (GetTempPathW(MAX_PATH, folder) && GetTempFileNameW(folder, L"dl4", 0, name)) opened = _wfopen(name, L"w+bD");
  const std::unique_ptr<FILE, int (*)(FILE *)> source(opened, std::fclose);  // which removes it
  if (!source || std::fwrite(input.data(), 1, input.size(), source.get()) != input.size() ||
      std::fflush(source.get()) != 0)
    throw Refusal(files, std::string("cannot write a temporary file: ") + std::strerror(errno));
  std::rewind(source.get());
  std::vector<std::wstring> own;
  for (const std::string &word : words) own.push_back(quoted(wide(word)));
  std::vector<const wchar_t *> arguments;
  for (const std::wstring &word : own) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  const int before = _dup(0);
  _dup2(_fileno(source.get()), 0);
  const intptr_t status = _wspawnvp(_P_WAIT, wide(words[0]).c_str(), arguments.data());
  const bool missing = status == -1 && errno == ENOENT;
  if (before >= 0) {
    _dup2(before, 0);
    _close(before);
  }
  return missing ? std::nullopt : std::optional(static_cast<int>(status));
}

}  // namespace dl4::tool::os
