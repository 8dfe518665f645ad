#include "io/zip/zip.hpp"

#include "base/inflate.hpp"
#include "base/json.hpp"
#include "io/bytes.hpp"
#include "io/crc.hpp"

namespace dl4::io {
namespace {

constexpr std::string_view local_mark("PK\x03\x04"), central_mark("PK\x01\x02"), end_mark("PK\x05\x06"),
    end64_mark("PK\x06\x06"), locator_mark("PK\x06\x07");
constexpr int64_t local_bytes = 30, end_bytes = 22, locator_bytes = 20, end64_bytes = 56;
constexpr int64_t max_directory = 100'000'000;
constexpr int64_t times_a_directory = 8;  // memory relative to the directory's bytes
constexpr uint64_t full = 0xFFFFFFFF;
constexpr int64_t stored_method = 0, deflate_method = 8;
constexpr int64_t max_ratio = 1032;  // of deflate

template <class... A>
[[noreturn]] void corrupt_zip(const A &...a) {
  fail(Code::corrupt_file, "zip archive: ", a...);
}

std::string bytes_at(const Source &source, int64_t at, int64_t size) {
  if (at < 0 || size < 0 || at > source.size() || size > source.size() - at)
    corrupt_zip("a structure of ", size, " bytes at ", at, " lies outside of the file");
  std::string bytes(static_cast<size_t>(size), '\0');
  source.read(at, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

int64_t offset(uint64_t n) {
  if (n > static_cast<uint64_t>(INT64_MAX)) corrupt_zip("a size of ", n, " bytes");
  return static_cast<int64_t>(n);
}

struct Directory {
  int64_t begin, size, members;
};

Directory end_of(const Source &source) {
  const int64_t tail = std::min<int64_t>(source.size(), end_bytes + 0xFFFF);
  const std::string last = bytes_at(source, source.size() - tail, tail);
  size_t at = last.size() < end_bytes ? std::string::npos : last.rfind(end_mark, last.size() - end_bytes);
  if (at == std::string::npos) corrupt_zip("it has no directory at its end");
  Cursor end(std::string_view(last).substr(at), "zip archive: the end of the directory");
  end.take(8);
  end.take(2);
  Directory d{};
  d.members = end.small(2);
  d.size = end.small(4);
  d.begin = end.small(4);
  if (d.begin != static_cast<int64_t>(full) && d.size != static_cast<int64_t>(full) && d.members != 0xFFFF) return d;
  const int64_t locator_at = source.size() - tail + static_cast<int64_t>(at) - locator_bytes;
  const std::string locator_text = bytes_at(source, locator_at, locator_bytes);
  Cursor locator(locator_text, "zip archive: the locator of the directory");
  locator.expect(locator_mark);
  locator.take(4);
  const std::string end64 = bytes_at(source, offset(locator.number(8)), end64_bytes);
  Cursor c(end64, "zip archive: the end of the directory");
  c.expect(end64_mark);
  c.take(28);
  d.members = offset(c.number(8));
  d.size = offset(c.number(8));
  d.begin = offset(c.number(8));
  return d;
}

void need_plain(const std::string &name) {
  const std::string all = '/' + name + '/';
  if (name.empty() || name.size() > 1024 || name[0] == '/' || all.find("/../") != all.npos ||
      name.find_first_of(std::string_view("\\\0", 2)) != name.npos)
    corrupt_zip("a member is named ", Json(name.substr(0, 100)).shown());
}

// Sizes and offsets past 32 bits are in the extra field.
void widen(Cursor extra, uint64_t &size, uint64_t &stored, uint64_t &header) {
  while (extra.left() >= 4) {
    const int64_t id = extra.small(2);
    Cursor field(extra.take(extra.count(2)), "zip archive: an extra field");
    if (id != 1) continue;
    for (uint64_t *n : {&size, &stored, &header})
      if (*n == full) *n = field.number(8);
  }
}

uint32_t sum_of(const Source &source) {
  constexpr int64_t step = 1 << 18;  // fits the cache
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(step, source.size())));
  uint32_t sum = 0;
  for (int64_t at = 0; at < source.size(); at += step) {
    const auto part = std::span(bytes).first(static_cast<size_t>(std::min(step, source.size() - at)));
    source.read(at, part);
    sum = crc_of(part, sum);
  }
  return sum;
}

}  // namespace

Zip::Zip(const Source &source, Budget &budget) : source_(source), budget_(budget) {
  const Directory d = end_of(source);
  if (d.size > std::min(max_directory, source.size())) corrupt_zip("its directory claims ", d.size, " bytes");
  budget.take(checked_mul(d.size, times_a_directory), "zip archive: its directory");
  const std::string directory = bytes_at(source, d.begin, d.size);
  directory_ = d.begin;
  Cursor c(directory, "zip archive: the directory");
  std::vector<std::pair<int64_t, int64_t>> places;
  for (int64_t i = 0; i < d.members; ++i) {
    c.expect(central_mark);
    c.take(4);
    Member m{};
    m.flags = c.small(2);
    m.method = c.small(2);
    c.take(4);
    m.sum = static_cast<uint32_t>(c.number(4));
    uint64_t stored = c.number(4), size = c.number(4);
    const size_t name_size = c.count(2), extra_size = c.count(2), comment_size = c.count(2);
    c.take(8);
    uint64_t header = c.number(4);
    const std::string name(c.take(name_size));
    widen(Cursor(c.take(extra_size), "zip archive: an extra field"), size, stored, header);
    c.take(comment_size);
    m.header = offset(header);
    m.stored = offset(stored);
    m.size = offset(size);
    need_plain(name);
    if (m.header > directory_ - local_bytes || m.stored > directory_ - local_bytes - m.header)
      corrupt_zip('"', name, "\" lies outside of the file");
    places.emplace_back(m.header, m.header + local_bytes + m.stored);
    if (!members_.emplace(name, m).second) corrupt_zip("two members are named \"", name, '"');
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second) corrupt_zip("two members lie over each other");
}

std::vector<std::string> Zip::names() const {
  std::vector<std::string> all;
  for (const auto &[name, m] : members_) all.push_back(name);
  return all;
}

// After its local header.
int64_t Zip::begin_of(const std::string &name, const Member &m) const {
  const std::string header = bytes_at(source_, m.header, local_bytes);
  Cursor c(header, "zip archive: a local header");
  c.expect(local_mark);
  c.take(22);
  const int64_t name_size = c.small(2), begin = m.header + local_bytes + name_size + c.small(2);
  if (begin > directory_ || m.stored > directory_ - begin) corrupt_zip('"', name, "\" lies over the directory");
  return begin;
}

std::unique_ptr<Source> Zip::open(const std::string &name, bool verified) const {
  const auto it = members_.find(name);
  if (it == members_.end()) corrupt_zip("it has no member \"", name, '"');
  const Member &m = it->second;
  constexpr int64_t encrypted = 1;
  if (m.flags & encrypted || (m.method != stored_method && m.method != deflate_method))
    fail(Code::unsupported, "zip archive: \"", name, "\" is ",
         m.flags & encrypted ? std::string("encrypted") : dl4::text("compressed by method ", m.method),
         "; members may be stored or deflated");
  const int64_t begin = begin_of(name, m);
  std::unique_ptr<Source> to;
  if (m.method == stored_method) {
    if (m.size != m.stored) corrupt_zip('"', name, "\" is stored in ", m.stored, " bytes and claims ", m.size);
    to = std::make_unique<Part>(source_, begin, m.stored);
  } else {
    if (m.size / max_ratio > m.stored) corrupt_zip('"', name, "\" claims ", m.size, " bytes out of ", m.stored);
    budget_.take(checked_add(m.size, m.stored), "zip archive: \"", name, '"');
    const Tensor inflated = make_tensor(DType::u8, {m.size});
    if (!inflate(bytes_at(source_, begin, m.stored), inflated.memory(), true))
      corrupt_zip('"', name, "\" is not the ", m.size, " bytes that it claims");
    to = std::make_unique<SharedMemory>(inflated);
  }
  if (verified && sum_of(*to) != m.sum) corrupt_zip('"', name, "\": the checksum does not fit its data");
  return to;
}

std::string Zip::text(const std::string &name) const {
  const std::unique_ptr<Source> source = open(name, true);
  if (source->size() > max_directory) corrupt_zip('"', name, "\" has ", source->size(), " bytes");
  budget_.take(source->size(), "zip archive: \"", name, '"');
  return bytes_at(*source, 0, source->size());
}

std::vector<std::string_view> zip_parts(
    const std::vector<std::pair<std::string, std::vector<std::string_view>>> &members,
    std::vector<std::string> &heads) {
  std::vector<std::string_view> parts;
  std::string directory;
  int64_t at = 0;
  heads.clear();
  heads.reserve(members.size() + 1);  // keeps views valid
  for (const auto &[name, pieces] : members) {
    uint32_t sum = 0;
    int64_t size = 0;
    for (std::string_view piece : pieces) {
      size = checked_add(size, static_cast<int64_t>(piece.size()));
      sum = crc_of(std::as_bytes(std::span(piece)), sum);
    }
    if (checked_add(at, size) >= static_cast<int64_t>(full) - (1 << 20))
      fail(Code::unsupported, "the file would take 4 GiB or more; save it in the native format");
    std::string what;  // in both headers
    const auto bytes = static_cast<uint64_t>(size);
    // 33: 1 January 1980, so that equal models give equal files
    put(what, {{20, 2}, {0, 6}, {33, 2}, {sum, 4}, {bytes, 4}, {bytes, 4}, {name.size(), 2}, {0, 2}});
    directory.append(central_mark);
    put(directory, {{20, 2}});
    directory += what;
    put(directory, {{0, 6}, {0600u << 16 | 0100000u << 16, 4}, {static_cast<uint64_t>(at), 4}});
    directory += name;
    heads.push_back(std::string(local_mark) + what + name);
    parts.push_back(heads.back());
    parts.insert(parts.end(), pieces.begin(), pieces.end());
    at += static_cast<int64_t>(heads.back().size()) + size;
  }
  const size_t directory_size = directory.size(), n = members.size();
  directory.append(end_mark);
  put(directory, {{0, 4}, {n, 2}, {n, 2}, {directory_size, 4}, {static_cast<uint64_t>(at), 4}, {0, 2}});
  heads.push_back(std::move(directory));
  parts.push_back(heads.back());
  return parts;
}

}  // namespace dl4::io
