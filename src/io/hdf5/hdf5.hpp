// HDF5, as far as h5py writes it for Keras: groups, datasets of numbers, attributes that are texts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.hpp"
#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

namespace hdf5 {

// What a datatype message says, as far as it is read.
struct Type {
  enum class Kind { integer, natural, real, brain_float, text, texts_elsewhere, opaque, other };
  Kind kind = Kind::other;
  int64_t size = 0;
  bool turned = false;  // big-endian
};

// Where the data of a dataset lie, and in which form.
struct Dataset {
  Type type;
  std::vector<int64_t> dims;
  enum class Layout { none, compact, contiguous, chunked } layout = Layout::none;
  std::string compact;
  int64_t at = 0, size = 0;  // contiguous; chunked: `at` is that of the tree
  std::vector<int64_t> chunk;
  std::vector<int64_t> filters;  // in the order in which they were applied
};

// Reads structures by their place. What all of them take together is bounded by the size of the source, so whatever
// runs in circles or lies over others comes to an end.
class Blocks {
 public:
  Blocks(const Source &source, Budget &budget) : source_(source), left_(2 * source.size() + 65536), budget_(budget) {}
  std::string read(int64_t at, int64_t size, const char *what);
  void read(int64_t at, std::span<std::byte> to, const char *what);
  // Counts what is made out of what was read before.
  void take(int64_t size, const char *what);
  int64_t size() const { return source_.size(); }

 private:
  const Source &source_;
  int64_t left_;
  Budget &budget_;
};

}  // namespace hdf5

class Hdf5 {
 public:
  // Of a source that outlives this, as does the budget; its whole tree is read, the data are not. Refuses with
  // CORRUPT_FILE what is not sound, with UNSUPPORTED, by its name, what h5py does not write for Keras: soft and
  // external links, an object with two names.
  Hdf5(const Source &source, Budget &budget);

  // By their paths: "layers/dense/vars/0".
  const std::map<std::string, hdf5::Dataset> &datasets() const { return datasets_; }
  // Is there a group or dataset?
  bool contains(const std::string &path) const { return attributes_.count(path) != 0; }
  // Floats of any size as float32, integers as int64. Refuses other filters than gzip and shuffle, by their number, and
  // what is past the budget, before it is allocated.
  Tensor read(const std::string &path) const;
  // An attribute that is a text or a list of texts; none where there is no such attribute. Of a list that was split,
  // "name0", "name1", ..., all parts. The path of the root is "".
  std::vector<std::string> texts(const std::string &path, const std::string &attribute) const;

 private:
  struct Attribute {
    hdf5::Type type;
    std::vector<int64_t> dims;
    std::string data;
  };
  using Attributes = std::map<std::string, Attribute>;
  struct Object;

  Object object(int64_t at) const;
  void add_links(int64_t at, const std::string &path, int depth);
  void add_attribute(std::string_view message, Attributes &to) const;
  std::vector<std::string> values(const Attribute &a) const;
  void read_chunks(const hdf5::Dataset &d, std::byte *to) const;

  mutable hdf5::Blocks blocks_;
  mutable std::map<int64_t, std::map<int64_t, std::string>> heaps_{};  // global ones, by place
  Budget &budget_;
  std::map<std::string, hdf5::Dataset> datasets_;
  std::map<std::string, Attributes> attributes_;  // of every object
  std::map<int64_t, std::string> paths_;          // by place
};

// A file of datasets of float32, int32 and int64 by their paths, in groups; `head` keeps its first bytes. Bytes are
// int8, but uint8 at the paths `natural`.
std::vector<std::string_view> hdf5_parts(const std::map<std::string, Tensor> &datasets,
                                         const std::set<std::string> &natural, std::string &head);

}  // namespace dl4::io
