
#include "io/file.hpp"

#include "graph/graph.hpp"
#include "io/budget.hpp"

namespace dl4::io {

void Memory::read(int64_t at, std::span<std::byte> to) const {
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + at, to.size());
}

File::File(const std::string &path, int64_t limit) : path_(path), file_(path) {
  if (size() > limit)
    throw Error(Code::out_of_memory, text('"', path, "\" has ", size(), " bytes, the memory limit is ", limit))
        .with("path", path);
}

void File::read(int64_t at, std::span<std::byte> to) const {
  const size_t n = file_.read(at, to);
  if (n < to.size())
    throw Error(Code::corrupt_file,
                text('"', path_, "\" was cut to ", at + static_cast<int64_t>(n), " bytes while it was read"))
        .with("path", path_);
}

bool begins(const Source &source, std::string_view mark) {
  std::string first(mark.size(), '\0');
  if (source.size() < static_cast<int64_t>(first.size())) return false;
  source.read(0, std::as_writable_bytes(std::span(first)));
  return first == mark;
}

void expect_suffix(const std::string &path, const std::vector<std::string> &known) {
  const std::string got = os::utf8(os::path(path).extension());
  if (got.size() < 2 || (got[1] >= '0' && got[1] <= '9')) return;
  std::string all;
  for (const std::string &suffix : known) {
    if (path.ends_with(suffix)) return;
    all += suffix + ", ";
  }
  throw Error(Code::unsupported,
              text('"', path, "\": expected a name that ends in ", all, "or has no suffix, got \"", got, '"'))
      .with("path", path)
      .with("expected", all + "or no suffix")
      .with("got", got)
      .suggest(got, known);
}

namespace {

constexpr int64_t free_bytes = int64_t{1} << 28, times_the_file = 16, times_given_back = 4;

}  // namespace

Budget budget_for(const graph::Settings &settings, int64_t file_bytes) {
  if (settings.limited) return Budget(settings.memory_limit);
  Budget b(std::min(free_bytes, settings.memory_limit));
  b.most_ = settings.memory_limit;
  b.add_file(file_bytes);
  return b;
}

void Budget::add_file(int64_t bytes) {
  const int64_t more = std::clamp<int64_t>(most_ - whole_, 0, checked_mul(bytes, times_the_file));
  whole_ += more, left_ += more;
}

void Budget::give_back(int64_t bytes) {
  const int64_t most = whole_ > INT64_MAX / times_given_back ? INT64_MAX : times_given_back * whole_;
  bytes = std::min(bytes, most - given_back_);
  left_ += bytes, given_back_ += bytes;
}

void take_layers(Budget &budget, const graph::Architecture &a) {
  size_t n = a.layers.size();
  for (const auto &l : a.layers) n += l.calls.size();
  budget.take(checked_mul(static_cast<int64_t>(n), layer_bytes), n, " layers and calls");
}

}  // namespace dl4::io
