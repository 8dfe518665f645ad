// Writes a temporary file beside the target, then FlushFileBuffers and ReplaceFile, or MoveFileEx for a new file.
#include "base/os/file.hpp"

#include <windows.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <system_error>

#include "base/error.hpp"

namespace dl4::os {
namespace {

[[noreturn]] void refuse(const char *what, const std::string &path, DWORD error) {
  const bool missing = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
  std::string reason = std::system_category().message(static_cast<int>(error));
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '\r' || reason.back() == '.')) reason.pop_back();
  throw Error(missing && std::string_view(what) == "open" ? Code::not_found : Code::io,
              text("cannot ", what, " \"", path, "\": ", missing ? "No such file or directory" : reason))
      .with("path", path);
}

class Handle {
 public:
  explicit Handle(HANDLE h) : h_(h) {}
  ~Handle() { close(); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  operator HANDLE() const { return h_; }
  bool ok() const { return h_ != INVALID_HANDLE_VALUE; }
  void close() {
    if (ok()) CloseHandle(h_);
    h_ = INVALID_HANDLE_VALUE;
  }

 private:
  HANDLE h_;
};

// The part of the path that Windows can't represent or would map to another path; "" if there is none.
std::string forbidden(std::string_view path) {
  constexpr std::string_view separators = "/\\", verbatim = "\\\\?\\";
  if (path.starts_with(verbatim)) path.remove_prefix(verbatim.size());
  if (path.size() >= 2 && path[1] == ':' && std::isalpha(static_cast<unsigned char>(path[0]))) path.remove_prefix(2);
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find_first_of(separators));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    for (char c : name) {
      if (std::string_view("<>:\"|?*").find(c) != std::string_view::npos)
        return text('\'', c, "', which Windows forbids");
      if (static_cast<unsigned char>(c) < 32) return "a control character, which Windows forbids";
    }
    if (name.empty() || name == "." || name == "..") continue;
    if (name.back() == '.' || name.back() == ' ')
      return text("the name \"", name, "\", whose last character Windows leaves out");
    std::string stem(name.substr(0, name.find('.')));
    while (!stem.empty() && stem.back() == ' ') stem.pop_back();
    for (char &c : stem) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const bool numbered =
        stem.size() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")) && stem[3] >= '1' && stem[3] <= '9';
    if (numbered || stem == "CON" || stem == "PRN" || stem == "AUX" || stem == "NUL")
      return text("the name \"", name, "\", which Windows keeps for a device");
  }
  return "";
}

constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// Resolves a symbolic link; other paths are returned as they are.
std::filesystem::path resolved(const std::filesystem::path &p) {
  std::error_code error;
  if (!std::filesystem::is_symlink(p, error)) return p;
  const auto real = std::filesystem::weakly_canonical(p, error);
  return error ? p : real;
}

void write_all(HANDLE file, std::string_view rest, const std::string &path) {
  while (!rest.empty()) {
    DWORD n = 0;
    if (!WriteFile(file, rest.data(), static_cast<DWORD>(std::min<size_t>(rest.size(), 1u << 30)), &n, nullptr))
      refuse("write", path, GetLastError());
    rest.remove_prefix(n);
  }
}

}  // namespace

std::filesystem::path path(const std::string &utf8) {
  if (utf8.find('\0') != std::string::npos)
    throw Error(Code::io, text("cannot open \"", utf8, "\": expected a path, got one with a NUL")).with("path", utf8);
  if (const std::string reason = forbidden(utf8); !reason.empty())
    throw Error(Code::io, text("cannot open \"", utf8, "\": expected a path, got one with ", reason))
        .with("path", utf8);
  if (utf8.empty()) return {};
  const int bytes = static_cast<int>(std::min<size_t>(utf8.size(), INT_MAX));
  const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), bytes, nullptr, 0);
  if (n <= 0) throw Error(Code::io, "cannot open a file: expected its path in UTF-8, got other bytes").with("path", "");
  std::wstring wide(static_cast<size_t>(n), L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), bytes, wide.data(), n);
  return wide;
}

std::string utf8(const std::filesystem::path &path) {
  const std::u8string s = path.u8string();
  return {s.begin(), s.end()};
}

File::File(const std::string &path)
    : path_(path),
      handle_(reinterpret_cast<intptr_t>(CreateFileW(os::path(path).c_str(), GENERIC_READ, share_all, nullptr,
                                                     OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr))) {
  const auto handle = reinterpret_cast<HANDLE>(handle_);
  if (handle == INVALID_HANDLE_VALUE) {
    const DWORD error = GetLastError();
    const DWORD attributes = GetFileAttributesW(os::path(path).c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY))
      throw Error(Code::io, text("cannot read \"", path, "\": Is a directory")).with("path", path);
    refuse("open", path, error);
  }
  LARGE_INTEGER size{};
  const bool regular = GetFileType(handle) == FILE_TYPE_DISK;
  const DWORD error = regular && !GetFileSizeEx(handle, &size) ? GetLastError() : 0;
  size_ = size.QuadPart;
  if (regular && !error) return;
  CloseHandle(handle);
  if (error) refuse("read", path, error);
  throw Error(Code::io, text("cannot read \"", path, "\": expected a regular file, got a pipe, socket or device"))
      .with("path", path);
}

File::~File() { CloseHandle(reinterpret_cast<HANDLE>(handle_)); }

size_t File::read(int64_t at, std::span<std::byte> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const uint64_t from = static_cast<uint64_t>(at) + done;
    OVERLAPPED where{};
    where.Offset = static_cast<DWORD>(from);
    where.OffsetHigh = static_cast<DWORD>(from >> 32);
    DWORD n = 0;
    const auto wanted = static_cast<DWORD>(std::min<size_t>(to.size() - done, 1u << 30));
    if (!ReadFile(reinterpret_cast<HANDLE>(handle_), to.data() + done, wanted, &n, &where)) {
      if (const DWORD error = GetLastError(); error != ERROR_HANDLE_EOF) refuse("read", path_, error);
      break;
    }
    if (n == 0) break;
    done += n;
  }
  return done;
}

void write_file(const std::string &path, std::span<const std::string_view> parts) {
  const std::filesystem::path target = resolved(os::path(path));
  const DWORD attributes = GetFileAttributesW(target.c_str());
  const bool exists = attributes != INVALID_FILE_ATTRIBUTES;
  if (exists && (attributes & FILE_ATTRIBUTE_DIRECTORY))
    throw Error(Code::io, text("cannot write \"", path, "\": Is a directory")).with("path", path);
  if (exists && (attributes & FILE_ATTRIBUTE_READONLY)) refuse("write", path, ERROR_ACCESS_DENIED);
  std::filesystem::path temporary;
  HANDLE made = INVALID_HANDLE_VALUE;
  for (int tries = 0; tries < 100 && made == INVALID_HANDLE_VALUE; ++tries) {
    temporary = target.parent_path() / text(".dl4-", GetCurrentProcessId(), '-',
                                            std::chrono::system_clock::now().time_since_epoch().count(), ".tmp");
    made = CreateFileW(temporary.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (made == INVALID_HANDLE_VALUE && GetLastError() != ERROR_FILE_EXISTS) break;
  }
  Handle file(made);
  if (!file.ok()) refuse("write", path, GetLastError());
  struct Remove {
    const std::filesystem::path &name;
    Handle &file;
    bool active = true;
    ~Remove() {
      if (!active) return;
      file.close();
      DeleteFileW(name.c_str());
    }
  } remove{temporary, file};
  for (std::string_view part : parts) write_all(file, part, path);
  if (!FlushFileBuffers(file)) refuse("write", path, GetLastError());
  file.close();
  // ReplaceFile keeps access rights and attributes of the old file, which it moves away. Without a name for that
  // backup, a failure may leave a temporary file of its own. Not every file system supports it.
  const std::filesystem::path old = temporary.native() + L".old";
  if (exists) SetFileAttributesW(temporary.c_str(), attributes);
  const bool replaced = exists && ReplaceFileW(target.c_str(), temporary.c_str(), old.c_str(), 0, nullptr, nullptr);
  if (replaced) DeleteFileW(old.c_str());
  if (exists && !replaced) MoveFileExW(old.c_str(), target.c_str(), 0);  // restores the backup, if it was made
  if (!replaced && !MoveFileExW(temporary.c_str(), target.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
    refuse("write", path, GetLastError());
  remove.active = false;
}

void append_file(const std::string &path, std::string_view text, bool keep) {
  const Handle file(CreateFileW(os::path(path).c_str(), FILE_APPEND_DATA, share_all, nullptr,
                                keep ? OPEN_ALWAYS : CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr));
  if (!file.ok()) refuse("write", path, GetLastError());
  write_all(file, text, path);
}

}  // namespace dl4::os
