// The object tree of an HDF5 file: superblock, object headers, links, attributes.

#include "base/json.hpp"
#include "io/hdf5/objects.hpp"

namespace dl4::io {

using namespace hdf5;

namespace {

constexpr std::string_view signature("\x89HDF\r\n\x1a\n");
constexpr int max_depth = 64;
constexpr size_t max_objects = 2'000'000;
constexpr int64_t max_filters = 32;     // HDF5's limit
constexpr int64_t shared = 2;           // message flag: stored elsewhere
constexpr int64_t object_bytes = 1024;  // approximate memory of an object besides its path

// Address of the root group's object header.
int64_t root_of(Blocks &b) {
  const std::string head = b.read(0, std::min<int64_t>(b.size(), 96), "the superblock");
  Cursor c(head, "HDF5: the superblock");
  c.expect(signature);
  const int64_t version = c.small(1);
  if (version > 3) unsupported("a superblock of version ", version);
  if (version < 2) c.take(4);
  if (const int64_t offsets = c.small(1), lengths = c.small(1); offsets != 8 || lengths != 8)
    unsupported("addresses of ", offsets, " and sizes of ", lengths, " bytes; both must have 8");
  c.take(version < 2 ? (version == 0 ? 9 : 13) : 1);
  if (const int64_t base = length(c); base != 0) unsupported("a file that begins at ", base);
  c.take(version < 2 ? 32 : 16);  // old versions: skips to the object header's address in the root's symbol table entry
  return length(c);
}

struct Raw {
  int64_t type, flags;
  std::string data;
};

class Header {
 public:
  Header(Blocks &b, int64_t at) : b_(b) {
    if (b.read(at, 4, "an object") == "OHDR")
      read_new(at);
    else
      read_old(at);
  }
  std::vector<Raw> messages;

 private:
  void read_old(int64_t at) {
    const std::string head = b_.read(at, 16, "an object");
    Cursor c(head, "HDF5: an object");
    if (const int64_t version = c.small(1); version != 1) corrupt("an object header of version ", version);
    c.take(1);
    const int64_t count = c.small(2);
    c.take(4);
    std::vector<std::pair<int64_t, int64_t>> blocks{{at + 16, c.small(4)}};
    for (size_t i = 0; i < blocks.size(); ++i) {
      const std::string bytes = b_.read(blocks[i].first, blocks[i].second, "an object");
      Cursor m(bytes, "HDF5: an object");
      while (m.left() >= 8 && static_cast<int64_t>(messages.size()) < count) {
        const int64_t type = m.small(2);
        const size_t size = m.count(2);
        const int64_t flags = m.small(1);
        m.take(3);
        add(type, flags, m.take(size), blocks);
      }
    }
  }
  void read_new(int64_t at) {
    const std::string head = b_.read(at, std::min<int64_t>(34, b_.size() - at), "an object");
    Cursor c(head, "HDF5: an object");
    c.take(4);
    if (const int64_t version = c.small(1); version != 2) corrupt("an object header of version ", version);
    const int64_t flags = c.small(1), times = flags & 0x20 ? 16 : 0, limits = flags & 0x10 ? 4 : 0,
                  size_bytes = 1 << (flags & 3);
    c.take(static_cast<size_t>(times + limits));
    const auto size = static_cast<int64_t>(c.number(static_cast<size_t>(size_bytes)));
    constexpr int64_t sum = 4;  // checksum after each block
    if (size < 0 || size > b_.size()) corrupt("an object header of ", static_cast<uint64_t>(size), " bytes");
    std::vector<std::pair<int64_t, int64_t>> blocks{{at + 6 + times + limits + size_bytes - sum, size + 2 * sum}};
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].second < 2 * sum) corrupt("a block of an object header has ", blocks[i].second, " bytes");
      const std::string bytes = b_.read(blocks[i].first, blocks[i].second, "an object");
      Cursor m(std::string_view(bytes).substr(0, bytes.size() - sum), "HDF5: an object");
      const std::string_view mark = m.take(4);
      if (i > 0 && mark != "OCHK") corrupt("a block of an object header does not begin with \"OCHK\"");
      while (m.left() >= (flags & 4 ? 6u : 4u)) {
        const int64_t type = m.small(1);
        const size_t bytes_of_it = m.count(2);
        const int64_t its_flags = m.small(1);
        if (flags & 4) m.take(2);
        add(type, its_flags, m.take(bytes_of_it), blocks);
      }
    }
  }
  void add(int64_t type, int64_t flags, std::string_view data, std::vector<std::pair<int64_t, int64_t>> &blocks) {
    messages.push_back({type, flags, std::string(data)});
    if (type != continuation) return;
    Cursor c(data, "HDF5: the continuation of an object");
    const int64_t at = length(c);
    blocks.emplace_back(at, length(c));
  }

  Blocks &b_;
};

// A link's name and target.
std::pair<std::string, int64_t> read_link(std::string_view message) {
  Cursor c(message, "HDF5: a link");
  if (const int64_t version = c.small(1); version != 1) corrupt("a link of version ", version);
  const int64_t flags = c.small(1), type = flags & 8 ? c.small(1) : 0;
  c.take((flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0));
  const std::string name(c.take(c.count(size_t{1} << (flags & 3))));
  if (type != 0) unsupported('"', name.substr(0, max_name), "\" is a ", type == 1 ? "soft" : "external", " link");
  return {name, length(c)};
}

void read_layout(std::string_view message, Dataset &d) {
  Cursor c(message, "HDF5: a layout");
  const int64_t version = c.small(1), kind = c.small(1);
  if (version != 3 && version != 4) unsupported("a data layout of version ", version);
  if (kind == 0) {
    d.layout = Dataset::Layout::compact;
    d.compact = c.take(c.count(2));
  } else if (kind == 1) {
    const uint64_t at = c.number(8);
    d.size = length(c);
    d.layout = at == nowhere ? Dataset::Layout::none : Dataset::Layout::contiguous;
    d.at = at == nowhere ? 0 : static_cast<int64_t>(std::min<uint64_t>(at, INT64_MAX / 2));
  } else if (kind == 2 && version == 3) {
    const int64_t dims = c.small(1);
    const uint64_t at = c.number(8);
    d.layout = at == nowhere ? Dataset::Layout::none : Dataset::Layout::chunked;
    d.at = at == nowhere ? 0 : static_cast<int64_t>(std::min<uint64_t>(at, INT64_MAX / 2));
    for (int64_t i = 1; i < dims; ++i) d.chunk.push_back(c.small(4));
  } else {
    unsupported(kind == 2 ? "chunks with an index of version 4" : "a virtual dataset");
  }
}

std::vector<int64_t> read_filters(std::string_view message) {
  Cursor c(message, "HDF5: filters");
  const int64_t version = c.small(1), count = c.small(1);
  if (version != 1 && version != 2) corrupt("filters of version ", version);
  if (count > max_filters) corrupt(count, " filters");
  if (version == 1) c.take(6);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t id = c.small(2);
    int64_t name = version == 1 || id >= 256 ? c.small(2) : 0;
    c.take(2);
    const int64_t values = c.small(2);
    if (version == 1) name = round_up(name, 8);
    c.take(static_cast<size_t>(name + 4 * (values + (version == 1 && values % 2 ? 1 : 0))));
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

// The parsed part of an object header.
struct Hdf5::Object {
  Attributes attributes;
  Dataset dataset;
  bool is_dataset = false;
  std::vector<std::pair<std::string, int64_t>> links;
};

void Blocks::take(int64_t size, const char *what) {
  if (size < 0 || size > left_) corrupt(what, " lies outside of the file, or over others");
  left_ -= size;
}

std::string Blocks::read(int64_t at, int64_t size, const char *what) {
  if (size < 0 || size > left_) corrupt(what, " lies outside of the file, or over others");
  budget_.take(size, "HDF5: ", what);
  std::string bytes(static_cast<size_t>(size), '\0');
  read(at, std::as_writable_bytes(std::span(bytes)), what);
  return bytes;
}

void Blocks::read(int64_t at, std::span<std::byte> to, const char *what) {
  const auto size = static_cast<int64_t>(to.size());
  if (at < 0 || at > source_.size() || size > source_.size() - at)
    corrupt(what, " lies outside of the file, or over others");
  take(size, what);
  source_.read(at, to);
}

Hdf5::Hdf5(const Source &source, Budget &budget) try : blocks_(source, budget), budget_(budget) {
  add_links(root_of(blocks_), "", 0);
} catch (Error &error) {
  if (error.code == Code::invalid_argument) error.code = Code::corrupt_file;  // a size past 64 bits
  throw;
}

Hdf5::Object Hdf5::object(int64_t at) const {
  Object o;
  const auto link_to = [&](std::string name, int64_t to) { o.links.emplace_back(std::move(name), to); };
  const auto add_link = [&](const std::string &message) { o.links.push_back(read_link(message)); };
  for (const Raw &m : Header(blocks_, at).messages) {
    Cursor c(m.data, "HDF5: a message of an object");
    if (m.flags & shared && (m.type == dataspace || m.type == datatype || m.type == layout || m.type == filters))
      unsupported("a message that is shared between objects");
    if (m.type == dataspace) o.dataset.dims = read_dims(c);
    if (m.type == datatype) o.dataset.type = read_type(c);
    if (m.type == layout) read_layout(m.data, o.dataset), o.is_dataset = true;
    if (m.type == filters) o.dataset.filters = read_filters(m.data);
    if (m.type == attribute && !(m.flags & shared)) add_attribute(m.data, o.attributes);
    if (m.type == link) add_link(m.data);
    if (m.type == symbol_table) {
      const int64_t tree = length(c);
      each_symbol(blocks_, tree, length(c), link_to);
    }
    if (m.type != link_info && m.type != attribute_info) continue;
    c.take(1);
    if (c.take(1)[0] & 1) c.take(m.type == link_info ? 8 : 2);
    const uint64_t heap = c.number(8);
    if (heap == nowhere) continue;
    Cursor again(m.data, "HDF5: a message of an object");
    again.take(m.data.size() - c.left() - 8);
    const int64_t heap_at = length(again), tree = length(again);
    if (m.type == link_info)  // each record is a 4-byte hash and a heap id
      each_in_heap(blocks_, tree, heap_at, 4, add_link);
    else
      each_in_heap(blocks_, tree, heap_at, 0, [&](const std::string &a) { add_attribute(a, o.attributes); });
  }
  return o;
}

void Hdf5::add_links(int64_t at, const std::string &path, int depth) {
  if (depth > max_depth) corrupt('"', path, "\": groups are nested deeper than ", max_depth);
  budget_.take(checked_add(object_bytes, 3 * static_cast<int64_t>(path.size())), "HDF5: the object \"", path, '"');
  const auto [before, is_new] = paths_.emplace(at, path);
  if (!is_new) unsupported("one object has two names, \"", before->second, "\" and \"", path, '"');
  if (paths_.size() > max_objects) unsupported("more than ", max_objects, " objects");
  Object o = [&] {
    try {
      return object(at);
    } catch (Error &error) {
      throw path.empty() ? error : error.in('"' + path + '"');
    }
  }();
  attributes_[path] = std::move(o.attributes);
  if (o.is_dataset) datasets_[path] = std::move(o.dataset);
  for (const auto &[name, to] : o.links) {
    if (name.empty() || name.size() > max_name || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\0", 2)) != name.npos)
      corrupt("a member of \"", path, "\" is named ", Json(name.substr(0, 100)).shown());
    const std::string below = path.empty() ? name : path + '/' + name;
    blocks_.take(static_cast<int64_t>(below.size()), "a path");
    if (attributes_.count(below)) corrupt("two objects are named \"", below, '"');
    add_links(to, below, depth + 1);
  }
}

void Hdf5::add_attribute(std::string_view message, Attributes &to) const {
  Cursor c(message, "HDF5: an attribute");
  const int64_t version = c.small(1);
  if (version < 1 || version > 3) corrupt("an attribute of version ", version);
  if (c.small(1) != 0 && version > 1) return;  // shared type or shape: not written by Keras
  const size_t name_bytes = c.count(2), type_bytes = c.count(2), dims_bytes = c.count(2);
  if (version == 3) c.take(1);
  const auto part = [&](size_t size) {
    const std::string_view bytes = c.take(size);
    if (version == 1) c.align(8);
    return bytes;
  };
  const std::string_view name = part(name_bytes), type = part(type_bytes), dims = part(dims_bytes);
  Cursor t(type, "HDF5: the type of an attribute"), d(dims, "HDF5: the shape of an attribute");
  Attribute a{read_type(t), read_dims(d), std::string(c.take(c.left()))};
  to[std::string(name.substr(0, name.find('\0')))] = std::move(a);
}

std::vector<std::string> Hdf5::values(const Attribute &a) const {
  std::vector<std::string> list;
  int64_t n = 1;
  for (int64_t d : a.dims) n = checked_mul(n, d);
  Cursor c(a.data, "HDF5: an attribute");
  if (a.type.kind == Type::Kind::text && a.type.size > 0)
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view s = c.take(static_cast<size_t>(a.type.size));
      list.emplace_back(s.substr(0, s.find('\0')));
    }
  if (a.type.kind == Type::Kind::texts_elsewhere)
    for (int64_t i = 0; i < n; ++i) {
      const size_t size = c.count(4);
      const int64_t heap = length(c), index = c.small(4);
      if (size == 0) {
        list.emplace_back();
        continue;
      }
      auto it = heaps_.find(heap);
      if (it == heaps_.end()) it = heaps_.emplace(heap, global_objects(blocks_, heap)).first;
      const auto found = it->second.find(index);
      if (found == it->second.end() || found->second.size() < size) corrupt("a text is not where it should be");
      blocks_.take(static_cast<int64_t>(size), "a text");  // a shared one counts once per reference
      list.push_back(found->second.substr(0, size));
    }
  return list;
}

std::vector<std::string> Hdf5::texts(const std::string &path, const std::string &name) const {
  const auto object = attributes_.find(path);
  if (object == attributes_.end()) return {};
  const auto find = [&](const std::string &which) {
    const auto it = object->second.find(which);
    return it == object->second.end() ? nullptr : &it->second;
  };
  if (const Attribute *a = find(name)) return values(*a);
  std::vector<std::string> all;
  for (int64_t i = 0; const Attribute *a = find(text(name, i)); ++i)
    for (std::string &s : values(*a)) all.push_back(std::move(s));
  return all;
}

}  // namespace dl4::io
