// A row by libdl4, through the public header alone.
#pragma once

#include <dl4/dl4.h>

#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "row.hpp"

namespace bench {

// Throws std::runtime_error with the error's message.
void check(dl4_error *e);

struct Release {
  void operator()(void *object) const { dl4_release(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

// Memory that begins a line of the cache, as dl4_tensor_create gives it and as the peers' C interfaces are given
// theirs.
template <class T>
struct Lines {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  Lines() = default;
  template <class U>
  explicit Lines(const Lines<U> &) {}
  T *allocate(size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), line)); }
  void deallocate(T *p, size_t) { ::operator delete(p, line); }
  bool operator==(const Lines &) const = default;
};
template <class T>
using Numbers = std::vector<T, Lines<T>>;

// The numbers both sides work on, the same for every run of a row.
struct Data {
  std::vector<Numbers<float>> inputs;  // ids are stored as floats too
  std::vector<Numbers<int32_t>> ids;   // by input, empty where it is floats
  Numbers<float> targets;              // of the only output
  Numbers<int32_t> labels;

  explicit Data(const Row &row);
};

struct Weight {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using Weights = std::map<std::string, Weight>;  // by name

class Model {
 public:
  // file: the bytes of a saved model, taken instead of a new one; its weights stay there.
  Model(const Row &row, const Data &data, int threads, bool training, std::string_view file = {});

  void run();     // a session's run, into the same outputs each time
  double step();  // a trainer's step: the loss

  // Outputs of the caller's own, for runs of one session from several threads.
  std::vector<dl4_tensor *> new_outputs();
  void run(std::vector<dl4_tensor *> &out);

  void save(const std::string &path) const;
  Weights weights() const;                       // as they are now
  double creation() const { return creation_; }  // seconds: of the session, or of the trainer
  std::span<const float> output(size_t i) const;
  std::string describe() const;  // the session's, or the trainer's, Program and Plan
  int64_t arena_bytes() const;

 private:
  Owned<dl4_context> context_;
  Owned<dl4_model> model_;
  Owned<dl4_session> session_;
  Owned<dl4_trainer> trainer_;
  std::vector<Owned<dl4_tensor>> tensors_;
  std::vector<dl4_tensor *> in_, out_, target_;
  size_t outputs_ = 0;
  double creation_ = 0;
};

// The shape of the targets of a row: labels where the loss is sparse.
std::vector<int64_t> target_shape(const Row &row);

// What dl4_build_info says.
std::string build_info();

}  // namespace bench
