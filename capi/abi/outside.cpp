// Files and the log for a fit's callbacks.
#include "outside.hpp"

#include <filesystem>

#include "base/os/file.hpp"
#include "io/formats.hpp"

namespace dl4::capi {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string &path) {
  const fs::path folder = os::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder))
    fail(Code::io, "cannot make the folder \"", os::utf8(folder), "\": ", error.message());
}

}  // namespace

void Files::say(const std::string &message) { context_.log.write(Log::info, message); }

void Files::expect_model(const std::string &path) const { io::format_of(path); }

void Files::save_model(const train::Trainer &t, const std::string &path) {
  if (!writes_) return;
  make_folder(path);
  io::save_model(t, path);
}

void Files::save_checkpoint(const train::Trainer &t, const std::string &path) {
  if (!writes_) return;
  make_folder(path);
  io::save_checkpoint(t, path);
}

bool Files::load_checkpoint(train::Trainer &t, const std::string &path) {
  std::error_code error;
  if (!fs::exists(os::path(path), error) && !error) return false;
  io::load_checkpoint(t, io::File(path, context_.settings().memory_limit));
  return true;
}

void Files::remove(const std::string &path) {
  if (!writes_) return;
  std::error_code error;
  fs::remove(os::path(path), error);
  if (error) fail(Code::io, "cannot remove \"", path, "\": ", error.message());
}

void Files::write(const std::string &path, const std::string &text, bool append) {
  if (!writes_) return;
  make_folder(path);
  os::append_file(path, text, append);
}

bool Files::has_text(const std::string &path) const {
  std::error_code error;
  const auto size = fs::file_size(os::path(path), error);
  return !error && size > 0;
}

}  // namespace dl4::capi
