// B-trees and heaps of HDF5.

#include "io/hdf5/objects.hpp"

namespace dl4::io::hdf5 {
namespace {

constexpr int max_levels = 16;
constexpr int64_t max_block = int64_t{1} << 30;

// Visits a version 1 B-tree of a group (0) or of chunks (1): f(key before the child, child, level).
void each_entry(Blocks &b, int64_t at, int type, size_t key_bytes, int level,
                const std::function<void(Cursor, int64_t)> &f) {
  const std::string head = b.read(at, 24, "a node of a B-tree");
  Cursor c(head, "HDF5: a node of a B-tree");
  c.expect("TREE");
  const int64_t its_type = c.small(1), its_level = c.small(1), entries = c.small(2);
  if (its_type != type) corrupt("a B-tree of type ", its_type, ", expected ", type);
  // Levels must decrease by one, which excludes cycles.
  if (its_level >= max_levels || (level >= 0 && its_level != level))
    corrupt("a B-tree's node of level ", its_level, level >= 0 ? text(", expected ", level) : "");
  const std::string body = b.read(at + 24, entries * static_cast<int64_t>(key_bytes + 8), "the entries of a B-tree");
  Cursor all(body, "HDF5: the entries of a B-tree");
  for (int64_t i = 0; i < entries; ++i) {
    const Cursor key(all.take(key_bytes), "HDF5: a key of a B-tree");
    const int64_t child = length(all);
    if (its_level > 0)
      each_entry(b, child, type, key_bytes, static_cast<int>(its_level) - 1, f);
    else
      f(key, child);
  }
}

// Bytes needed for numbers up to `most`.
size_t width(uint64_t most) { return (static_cast<size_t>(std::bit_width(most)) + 7) / 8; }

class Heap {
 public:
  Heap(Blocks &b, int64_t at) : b_(b) {
    const std::string head = b.read(at, 142, "a fractal heap");
    Cursor c(head, "HDF5: a fractal heap");
    c.expect("FRHP");
    if (const int64_t version = c.small(1); version != 0) unsupported("a fractal heap of version ", version);
    id_bytes_ = c.count(2);
    if (c.small(2) != 0) unsupported("a fractal heap with filters");
    c.take(1);
    const uint64_t max_object = c.number(4);
    c.take(96);  // huge and tiny objects, free space, counts
    columns_ = c.small(2);
    first_ = length(c);
    max_direct_ = length(c);
    const int64_t bits = c.small(2);
    c.take(2);
    root_ = c.number(8);
    rows_ = c.small(2);
    const auto is_size = [](int64_t n) { return n > 0 && n <= max_block && std::has_single_bit(uint64_t(n)); };
    if (!is_size(first_) || !is_size(max_direct_) || max_direct_ < first_ || columns_ < 1 || columns_ > 4096 ||
        bits < 8 || bits > 62 || rows_ > 62)
      corrupt("a fractal heap of wrong sizes");
    offset_bytes_ = static_cast<size_t>(bits + 7) / 8;
    const uint64_t most = std::min<uint64_t>(static_cast<uint64_t>(max_direct_), std::max<uint64_t>(max_object, 1));
    length_bytes_ = static_cast<size_t>(std::bit_width(most) - 1 + 7) / 8;
  }

  size_t id_bytes() const { return id_bytes_; }

  std::string object(Cursor id) {
    if (const int64_t kind = id.small(1) >> 4; kind != 0) unsupported("a huge or tiny object in a fractal heap");
    const auto at = static_cast<int64_t>(id.number(offset_bytes_));
    const int64_t size = static_cast<int64_t>(id.number(length_bytes_));
    if (at < 0 || size > max_direct_) corrupt("an object of a fractal heap lies outside of it");
    if (rows_ == 0) return in_block(root_, first_, at, size);
    return find(root_, rows_, 0, at, size, 0);
  }

 private:
  int64_t row_bytes(int64_t row) const {  // of each block in that row
    int64_t n = first_;
    for (int64_t r = 1; r < row; ++r) n = checked_mul(n, 2);
    return n;
  }
  std::string in_block(uint64_t block, int64_t block_bytes, int64_t at, int64_t size) {
    if (block == nowhere || at > block_bytes - size) corrupt("an object of a fractal heap lies outside of it");
    if (block > static_cast<uint64_t>(b_.size())) corrupt("a block of a fractal heap lies outside of the file");
    return b_.read(static_cast<int64_t>(block) + at, size, "an object of a fractal heap");
  }
  // Searches the indirect block at `block` with `rows` rows, whose first byte is offset `begin` of the heap.
  std::string find(uint64_t block, int64_t rows, int64_t begin, int64_t at, int64_t size, int depth) {
    if (depth > max_levels) corrupt("a fractal heap is too deep");
    int64_t row_begin = begin;
    for (int64_t row = 0, entry = 0; row < rows; ++row, entry += columns_) {
      const int64_t each = row_bytes(row), row_end = checked_add(row_begin, checked_mul(each, columns_));
      if (at < row_end) {
        const int64_t column = (at - row_begin) / each, child_begin = row_begin + column * each;
        // Skips the signature, the version, the heap's address and the block's offset.
        const int64_t place = checked_add(static_cast<int64_t>(std::min<uint64_t>(block, INT64_MAX / 2)), 13,
                                          static_cast<int64_t>(offset_bytes_), 8 * (entry + column));
        const std::string address = b_.read(place, 8, "an indirect block of a fractal heap");
        const uint64_t child = Cursor(address, "HDF5: an indirect block of a fractal heap").number(8);
        if (each <= max_direct_) return in_block(child, each, at - child_begin, size);
        int64_t child_rows = 1;
        for (int64_t n = checked_mul(first_, columns_); n < each; n = checked_mul(n, 2)) ++child_rows;
        return find(child, child_rows, child_begin, at, size, depth + 1);
      }
      row_begin = row_end;
    }
    corrupt("an object of a fractal heap lies outside of it");
  }

  Blocks &b_;
  size_t id_bytes_ = 0, offset_bytes_ = 0, length_bytes_ = 0;
  int64_t columns_ = 0, first_ = 0, max_direct_ = 0, rows_ = 0;
  uint64_t root_ = nowhere;
};

// A B-tree of version 2.
struct Tree2 {
  Blocks &b;
  int64_t node_bytes = 0, record_bytes = 0;
  const std::function<void(std::string_view)> &f;

  // Most records in a node of a level, and in its subtree.
  std::pair<int64_t, int64_t> most(int64_t level) const {
    const int64_t leaf = (node_bytes - 10) / record_bytes;
    int64_t own = leaf, all = leaf;
    const size_t own_width = width(static_cast<uint64_t>(leaf));
    for (int64_t l = 1; l <= level; ++l) {
      const int64_t pointer = 8 + static_cast<int64_t>(own_width + (l > 1 ? width(static_cast<uint64_t>(all)) : 0));
      own = (node_bytes - 10 - pointer) / (record_bytes + pointer);
      all = checked_add(checked_mul(own + 1, all), own);
    }
    return {own, all};
  }

  void node(int64_t at, int64_t records, int64_t level) {
    if (records > most(level).first) corrupt("a node of a B-tree with ", records, " records");
    const size_t own_width = width(static_cast<uint64_t>(most(0).first));
    const size_t all_width = level > 1 ? width(static_cast<uint64_t>(most(level - 1).second)) : 0;
    const int64_t pointers = level > 0 ? (records + 1) * static_cast<int64_t>(8 + own_width + all_width) : 0;
    const std::string bytes = b.read(at, 6 + records * record_bytes + pointers, "a node of a B-tree");
    Cursor c(bytes, "HDF5: a node of a B-tree");
    c.expect(level > 0 ? "BTIN" : "BTLF");
    c.take(2);
    for (int64_t i = 0; i < records; ++i) f(c.take(static_cast<size_t>(record_bytes)));
    for (int64_t i = 0; level > 0 && i <= records; ++i) {
      const int64_t child = length(c), its_records = static_cast<int64_t>(c.number(own_width));
      c.take(all_width);
      node(child, its_records, level - 1);
    }
  }
};

}  // namespace

void each_symbol(Blocks &b, int64_t tree, int64_t heap, const std::function<void(std::string, int64_t)> &f) {
  const std::string head = b.read(heap, 32, "a local heap");
  Cursor h(head, "HDF5: a local heap");
  h.expect("HEAP");
  h.take(4);
  const int64_t size = length(h);
  h.take(8);
  const std::string names = b.read(length(h), size, "the names of a group");
  each_entry(b, tree, 0, 8, -1, [&](Cursor, int64_t child) {
    const std::string node_head = b.read(child, 8, "a symbol table");
    Cursor n(node_head, "HDF5: a symbol table");
    n.expect("SNOD");
    n.take(2);
    const int64_t symbols = n.small(2);
    const std::string body = b.read(child + 8, symbols * 40, "a symbol table");
    Cursor c(body, "HDF5: a symbol table");
    for (int64_t i = 0; i < symbols; ++i) {
      const uint64_t at = c.number(8);
      const uint64_t address = c.number(8);
      const int64_t cached = c.small(4);
      c.take(20);
      const size_t end = at < names.size() ? names.find('\0', at) : names.npos;
      if (end == names.npos || end - at > max_name) corrupt("a name lies outside of its heap, or is too long");
      std::string name = names.substr(at, end - at);
      if (cached == 2) unsupported('"', name, "\" is a soft link");
      if (address > static_cast<uint64_t>(b.size())) corrupt('"', name, "\" lies outside of the file");
      f(std::move(name), static_cast<int64_t>(address));
    }
  });
}

void each_in_heap(Blocks &b, int64_t tree, int64_t heap, size_t prefix, const std::function<void(std::string)> &f) {
  Heap objects(b, heap);
  const std::string head = b.read(tree, 38, "a B-tree");
  Cursor c(head, "HDF5: a B-tree");
  c.expect("BTHD");
  c.take(2);
  const int64_t node_bytes = c.small(4), record_bytes = c.small(2), depth = c.small(2);
  c.take(2);
  const uint64_t root = c.number(8);
  const int64_t records = c.small(2);
  if (node_bytes < 64 || node_bytes > max_block || record_bytes < 1 || record_bytes > node_bytes / 4 ||
      depth >= max_levels)
    corrupt("a B-tree of wrong sizes");
  if (records == 0) return;
  if (root > static_cast<uint64_t>(b.size())) corrupt("a B-tree's root lies outside of the file");
  const std::function<void(std::string_view)> record = [&](std::string_view bytes) {
    Cursor r(bytes, "HDF5: a record of a B-tree");
    r.take(prefix);
    f(objects.object(Cursor(r.take(objects.id_bytes()), "HDF5: the name of an object in a fractal heap")));
  };
  Tree2{b, node_bytes, record_bytes, record}.node(static_cast<int64_t>(root), records, depth);
}

std::map<int64_t, std::string> global_objects(Blocks &b, int64_t heap) {
  const std::string head = b.read(heap, 16, "a global heap");
  Cursor h(head, "HDF5: a global heap");
  h.expect("GCOL");
  h.take(4);
  const int64_t size = length(h);
  if (size < 16) corrupt("a global heap of ", size, " bytes");
  const std::string body = b.read(heap + 16, size - 16, "a global heap");
  Cursor c(body, "HDF5: a global heap");
  std::map<int64_t, std::string> objects;
  while (c.left() >= 16) {
    const int64_t index = c.small(2);
    c.take(6);
    const auto bytes = static_cast<size_t>(length(c));
    if (index == 0) break;  // the rest is free
    objects.emplace(index, c.take(bytes));
    c.align(8);
  }
  return objects;
}

void each_chunk(Blocks &b, int64_t tree, size_t rank,
                const std::function<void(std::string, int64_t, const std::vector<int64_t> &)> &f) {
  each_entry(b, tree, 1, 8 + 8 * (rank + 1), -1, [&](Cursor key, int64_t at) {
    const int64_t size = key.small(4), mask = key.small(4);
    std::vector<int64_t> place(rank);
    for (int64_t &p : place) p = length(key);
    f(b.read(at, size, "a chunk"), mask, place);
  });
}

}  // namespace dl4::io::hdf5
