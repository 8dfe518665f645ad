// The subset of HDF5 that h5py writes for Keras: groups, numeric datasets, text attributes.
#pragma once

#include <map>
#include <set>

#include "io/budget.hpp"
#include "io/file.hpp"

namespace dl4::io {

namespace hdf5 {

// The parsed part of a datatype message.
struct Type {
  enum class Kind { integer, natural, real, brain_float, text, texts_elsewhere, opaque, other };
  Kind kind = Kind::other;
  int64_t size = 0;
  bool turned = false;  // big-endian
};

// Location and layout of a dataset.
struct Dataset {
  Type type;
  std::vector<int64_t> dims;
  enum class Layout { none, compact, contiguous, chunked } layout = Layout::none;
  std::string compact;
  int64_t at = 0, size = 0;  // contiguous; if chunked, `at` is the tree's address
  std::vector<int64_t> chunk;
  std::vector<int64_t> filters;  // in the order of application
};

// Reads structures by address. Their total size is limited by that of the source, which ends cycles and overlapping
// structures.
class Blocks {
 public:
  Blocks(const Source &source, Budget &budget) : source_(source), left_(2 * source.size() + 65536), budget_(budget) {}
  std::string read(int64_t at, int64_t size, const char *what);
  void read(int64_t at, std::span<std::byte> to, const char *what);
  // Accounts for data derived from what was read.
  void take(int64_t size, const char *what);
  int64_t size() const { return source_.size(); }

 private:
  const Source &source_;
  int64_t left_;
  Budget &budget_;
};

}  // namespace hdf5

inline bool is_hdf5(const Source &source) { return begins(source, "\x89HDF\r\n\x1a\n"); }

class Hdf5 {
 public:
  // Reads the whole tree but no data; the source and the budget must outlive it. Refuses with CORRUPT_FILE invalid
  // files, and with UNSUPPORTED, naming the path, what h5py does not write for Keras: soft and external links, objects
  // with two names.
  Hdf5(const Source &source, Budget &budget);

  // By path: "layers/dense/vars/0".
  const std::map<std::string, hdf5::Dataset> &datasets() const { return datasets_; }
  // Whether a group or dataset exists.
  bool contains(const std::string &path) const { return attributes_.count(path) != 0; }
  // Floats of any size become float32, integers int64. Refuses filters other than gzip and shuffle, by number, and data
  // past the budget before allocating.
  Tensor read(const std::string &path) const;
  // A text attribute or list of texts; empty if missing. Joins a list that was split into "name0", "name1", ... The
  // root's path is "".
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
  mutable std::map<int64_t, std::map<int64_t, std::string>> heaps_{};  // global heaps, by address
  Budget &budget_;
  std::map<std::string, hdf5::Dataset> datasets_;
  std::map<std::string, Attributes> attributes_;  // of every object
  std::map<int64_t, std::string> paths_;          // by address
};

// Builds a file of float32, int32 and int64 datasets by path, in groups; `head` owns its first part. Bytes are int8, or
// uint8 at the paths in `natural`.
std::vector<std::string_view> hdf5_parts(const std::map<std::string, Tensor> &datasets,
                                         const std::set<std::string> &natural, std::string &head);

}  // namespace dl4::io
