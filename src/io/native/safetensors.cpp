// The file is untrusted: every number is checked against the bytes that exist.
#include "io/native/safetensors.hpp"

#include <cstdio>
#include <set>
#include <tuple>

#include "io/bytes.hpp"
#include "io/crc.hpp"
#include "io/tensors.hpp"

namespace dl4::io {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor data is written as it lies in memory");

constexpr uint64_t max_header = 100'000'000;
constexpr int64_t max_tensors = 1'000'000;
constexpr size_t max_name = 4096;  // a layer's name of 1,024 bytes, a weight's, and a checkpoint's prefix

constexpr std::pair<DType, const char *> dtypes[] = {{DType::f32, "F32"}, {DType::f64, "F64"},
                                                     {DType::i32, "I32"}, {DType::i64, "I64"},
                                                     {DType::u8, "U8"},   {DType::boolean, "BOOL"}};
// 2-byte floats, read as float32.
enum class Half { none, ieee, brain };
constexpr std::pair<Half, const char *> halves[] = {{Half::ieee, "F16"}, {Half::brain, "BF16"}};

// Detects torn writes and flipped bytes; no protection against an attacker.
std::string checksum(std::string_view bytes) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", crc_of(std::as_bytes(std::span(bytes))));
  return digits;
}

constexpr std::string_view sums_of_tensors = "crc32", header_sum = "header_crc32", no_sum = "00000000";

// Offset of the header's own checksum in a file's first bytes; npos if missing. Quotes inside strings are escaped, so a
// match can only be a key.
size_t place_of_sum(std::string_view head) {
  const std::string key = text('"', header_sum, "\":\"");
  size_t at = head.find(key), found = at + key.size();
  return at == std::string_view::npos || head.size() - found < no_sum.size() ? std::string_view::npos : found;
}

// Of length and header, with zeros in place of the checksum.
std::string checksum_of_head(std::string head) {
  head.replace(place_of_sum(head), no_sum.size(), no_sum);
  return checksum(head);
}

template <class... A>
[[noreturn]] void corrupt(const A &...a) {
  fail(Code::corrupt_file, a...);
}

int64_t whole(const Json &j, const std::string &name, const char *what) {
  if (!j.is_int64() || j.get<int64_t>() < 0) corrupt("tensor \"", name, "\": ", what, " holds ", j.shown());
  return j.get<int64_t>();
}

constexpr int64_t times_a_text = 5;  // JSON's memory while parsed, relative to the text

Json parse(std::string_view text, Code code, const char *what, Budget &budget, Json::Limits limits = {}) {
  try {
    limits.memory = budget.left();
    budget.take(checked_mul(static_cast<int64_t>(text.size()), times_a_text), "JSON");
    Json j = Json::parse(text, limits);
    if (!j.is_object()) fail(code, "expected an object");
    return j;
  } catch (Error &error) {
    if (error.code == Code::invalid_argument) error.code = code;
    throw error.in(what);
  }
}

// The header, after its length.
std::string read_head(const Source &source, Budget &budget) {
  uint64_t size = 0;
  if (source.size() < 8) corrupt("the file has ", source.size(), " bytes, too few for a safetensors header");
  source.read(0, std::as_writable_bytes(std::span(&size, 1)));
  if (size > max_header)
    corrupt("the header claims ", size, " bytes, the limit is ", max_header, "; this is not a safetensors file");
  if (static_cast<int64_t>(size) > source.size() - 8)
    corrupt("the header claims ", size, " bytes, the file has ", source.size() - 8, " after its length");
  budget.take(8 + static_cast<int64_t>(size), "the header");
  std::string head(8 + static_cast<size_t>(size), '\0');
  source.read(0, std::as_writable_bytes(std::span(head)));
  return head;
}

std::map<std::string, std::string> read_metadata(const Json &j) {
  if (!j.is_object()) corrupt("\"__metadata__\" must be an object");
  std::map<std::string, std::string> metadata;
  for (const auto &[key, value] : j.items()) {
    if (!value.is_string()) corrupt("\"__metadata__\": \"", key, "\" must be a string");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

struct Entry {
  std::string name;
  Tensor tensor;         // without data until that is read
  int64_t begin, bytes;  // in the file, after the header
  Half half;
};

Entry read_entry(const std::string &name, const Json &j, int64_t held) {
  if (!j.is_object() || j.size() != 3 || !j.contains("dtype") || !j.contains("shape") || !j.contains("data_offsets"))
    corrupt("tensor \"", name, "\": expected dtype, shape and data_offsets");
  const DType *dtype = nullptr;
  for (const auto &[d, word] : dtypes)
    if (j["dtype"] == word) dtype = &d;
  Half half = Half::none;
  for (const auto &[h, word] : halves)
    if (j["dtype"] == word) half = h, dtype = &dtypes[0].first;
  if (!dtype) corrupt("tensor \"", name, "\": dtype ", j["dtype"].shown(), " is not supported");
  if (!j["shape"].is_array() || j["shape"].size() > max_rank)
    corrupt("tensor \"", name, "\": \"shape\" must be a list of at most ", max_rank, " dims");
  std::vector<int64_t> dims;
  for (const auto &d : j["shape"]) dims.push_back(whole(d, name, "\"shape\""));
  if (!j["data_offsets"].is_array() || j["data_offsets"].size() != 2)
    corrupt("tensor \"", name, "\": \"data_offsets\" must be two numbers");
  const int64_t begin = whole(j["data_offsets"][0], name, "\"data_offsets\""),
                end = whole(j["data_offsets"][1], name, "\"data_offsets\"");
  try {
    Tensor t{*dtype, Shape(dims), nullptr};
    const int64_t bytes = half == Half::none ? t.bytes() : t.bytes() / 2;
    if (end < begin || end - begin != bytes || end > held)
      corrupt("\"data_offsets\" ", begin, " to ", end, " do not fit ", bytes, " bytes of ", held);
    return {name, std::move(t), begin, bytes, half};
  } catch (Error &error) {
    error.code = Code::corrupt_file;
    throw error.in("tensor \"" + name + "\"").with("tensor", name);
  }
}

// Refuses tensors with gaps or overlaps.
void need_no_gaps(const std::vector<Entry> &entries, int64_t claimed, int64_t held) {
  if (claimed != held) corrupt("the tensors take ", claimed, " bytes, the file holds ", held);
  std::vector<const Entry *> order;  // writers may list tensors in any order
  for (const Entry &e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(),
            [](auto *x, auto *y) { return std::tie(x->begin, x->bytes) < std::tie(y->begin, y->bytes); });
  int64_t next = 0;
  for (const Entry *e : order) {
    if (e->begin != next)
      corrupt("tensor \"", e->name, "\" begins at ", e->begin, ", the one before it ends at ", next);
    next += e->bytes;
  }
}

// Shares floats, which may have any value, in place if the source allows it.
void share_tensors(const Source &source, int64_t begins, std::span<Entry> entries) {
  for (Entry &e : entries) {
    if (e.tensor.dtype != DType::f32 || e.half != Half::none) continue;
    Bytes place = source.share(begins + e.begin);
    if (reinterpret_cast<uintptr_t>(place.get()) % alignof(float) == 0) e.tensor.data = std::move(place);
  }
}

// Reads the others into one block, freed with the last of them, so that small ones also benefit from large pages.
void read_tensors(const Source &source, int64_t begins, std::span<Entry> entries, Budget &budget) {
  constexpr int64_t aligned = 64;
  int64_t size = 0, narrow = 0;
  for (const Entry &e : entries) {
    if (!e.tensor.data) size = checked_add(size, round_up(e.tensor.bytes(), aligned));
    if (e.half != Half::none) narrow = checked_add(narrow, e.bytes);
  }
  budget.take(checked_add(size, narrow), "the tensors");
  const Bytes block = allocate(size);
  std::byte *place = block.get();
  for (auto &[name, t, begin, bytes, half] : entries) {
    if (t.data) continue;
    t.data = Bytes(block, place);
    place += round_up(t.bytes(), aligned);
    if (half == Half::none) {
      source.read(begins + begin, t.memory());
    } else {
      std::vector<uint16_t> all(static_cast<size_t>(bytes / 2));
      source.read(begins + begin, std::as_writable_bytes(std::span(all)));
      (half == Half::ieee ? widen_half : widen_bfloat16)(all, t.as<float>());
    }
    if (t.dtype == DType::boolean)
      if (const std::optional<uint8_t> other = other_than_flag(t.chars()))
        corrupt("tensor \"", name, "\": a bool that is ", static_cast<int>(*other));
  }
}

}  // namespace

Json parse_object(std::string_view text, Code code, const char *what, Budget &budget) {
  return parse(text, code, what, budget);
}
Json parse_object(std::string_view text, Code code, const char *what) {
  Budget all(INT64_MAX);
  return parse(text, code, what, all);
}

std::string file_text(const Json &object, const char *what) {
  std::string text = object.dump();
  try {
    Json::parse(text);
  } catch (const Error &e) {
    fail(Code::unsupported, what, " can't be read from a file: ", e.message);
  }
  return text;
}

std::map<std::string, Tensor> Archive::by_name() const { return {tensors.begin(), tensors.end()}; }

void write_archive(const Archive &a, const Write &write) {
  // Refuses what read_archive would refuse: a file that can't be loaded is lost work.
  if (a.tensors.size() > size_t{max_tensors})
    fail(Code::invalid_argument, "a file holds at most ", max_tensors, " tensors, got ", a.tensors.size());
  std::set<std::string_view> names;
  for (const auto &[name, t] : a.tensors) {
    if (name.size() > max_name)
      fail(Code::invalid_argument, "a tensor's name has ", name.size(), " bytes; a file takes at most ", max_name);
    if (!names.insert(name).second)
      fail(Code::invalid_argument, "two tensors are named \"", name, "\"; names in a file must be unique");
  }
  // Appended without search: a search for each name would be quadratic.
  Json sums = Json::object(), header = Json::object(), metadata = Json::object();
  for (const auto &[name, t] : a.tensors) sums.append(name, checksum(t.chars()));
  for (const auto &[key, value] : a.metadata) metadata.append(key, value);
  metadata[sums_of_tensors] = sums.dump();
  metadata[header_sum] = no_sum;
  header.append("__metadata__", std::move(metadata));
  int64_t at = 0;
  for (const auto &[name, t] : a.tensors) {
    const char *dtype = "";
    for (auto [d, word] : dtypes)
      if (d == t.dtype) dtype = word;
    header.append(name, {{"dtype", dtype}, {"shape", t.shape.dims()}, {"data_offsets", {at, at + t.bytes()}}});
    at = checked_add(at, t.bytes());
  }
  std::string text = header.dump();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');  // aligns vectors in a mapped file
  uint64_t size = text.size();
  if (size > max_header)
    fail(Code::invalid_argument, "the header of the file would take ", size, " bytes, the limit is ", max_header);
  std::string head(8, '\0');
  std::memcpy(head.data(), &size, 8);
  head += text;
  head.replace(place_of_sum(head), no_sum.size(), checksum_of_head(head));
  std::vector<std::string_view> parts{head};
  for (const auto &[name, t] : a.tensors) parts.push_back(t.chars());
  write(parts);
}

std::string to_bytes(const Archive &a) {
  return saved_bytes([&](const Write &write) { write_archive(a, write); });
}

bool is_safetensors(const Source &source) {
  uint64_t header = 0;
  std::array<char, sizeof header + 1> first{};
  if (source.size() < std::ssize(first)) return false;
  source.read(0, std::as_writable_bytes(std::span(first)));
  std::memcpy(&header, first.data(), sizeof header);
  return header <= max_header && first.back() == '{';
}

Archive read_archive(const Source &source, Budget &budget, const std::function<bool(const std::string &)> &wanted) {
  Archive a;
  a.head = read_head(source, budget);
  const int64_t begins = static_cast<int64_t>(a.head.size()), held = source.size() - begins;
  const Json header =
      parse(std::string_view(a.head).substr(8), Code::corrupt_file, "the header", budget, {.members = max_tensors + 1});
  int64_t claimed = 0;  // at most what exists: no allocation past twice the file's size
  std::vector<Entry> entries;
  for (const auto &[its_name, j] : header.items()) {
    const std::string name(its_name);
    if (name.size() > max_name) corrupt("a name of ", name.size(), " bytes; at most ", max_name);
    if (name == "__metadata__") {
      a.metadata = read_metadata(j);
      continue;
    }
    entries.push_back(read_entry(name, j, held));
    if (claimed > held - entries.back().bytes) corrupt("tensor \"", name, "\" lies over another");
    claimed += entries.back().bytes;
  }
  need_no_gaps(entries, claimed, held);
  const auto left_out =
      wanted ? std::stable_partition(entries.begin(), entries.end(), [&](const Entry &e) { return wanted(e.name); })
             : entries.end();
  const std::span<Entry> read(entries.begin(), left_out);
  share_tensors(source, begins, read);
  read_tensors(source, begins, read, budget);
  for (Entry &e : entries) a.tensors.emplace_back(std::move(e.name), std::move(e.tensor));
  return a;
}

void verify(const Archive &a, Budget &budget) {
  const auto found = a.metadata.find(std::string(header_sum)), sums = a.metadata.find(std::string(sums_of_tensors));
  for (auto it : {found, sums})
    if (it == a.metadata.end()) corrupt("the metadata has no \"", it == found ? header_sum : sums_of_tensors, '"');
  const size_t at = place_of_sum(a.head);
  if (at == std::string_view::npos || a.head.compare(at, no_sum.size(), found->second) != 0 ||
      found->second != checksum_of_head(a.head))
    corrupt("the header's checksum does not fit it");
  const Json j = parse(sums->second, Code::corrupt_file, text('"', sums_of_tensors, '"').c_str(), budget,
                       {.members = max_tensors});
  std::map<std::string_view, const Json *> by_name;
  for (const auto &[name, sum] : j.items()) by_name.emplace(name, &sum);
  for (const auto &[name, t] : a.tensors)
    if (auto it = by_name.find(name); t.data && (it == by_name.end() || *it->second != checksum(t.chars())))
      corrupt("tensor \"", name, "\": the checksum does not fit its data");
}

}  // namespace dl4::io
