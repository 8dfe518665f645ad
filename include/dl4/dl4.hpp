// dl4.hpp: libdl4 for C++20. Objects that own themselves, errors as exceptions, spans; over dl4.h alone, all of it in
// this header, which has no binary interface of its own.
//
// Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0
//
//   dl4::Graph g;
//   dl4::Node x = g.input("x", {-1, 4});
//   dl4::Node y = g.add("Dense", x, {{"units", 3}, {"activation", "softmax"}});
//   dl4::Model model = g.build({x}, {y});
//   dl4::Trainer trainer(model, {{"optimizer", "Adam"}, {"loss", "SparseCategoricalCrossentropy"}});
//   trainer.fit(dl4::Dataset({images}, {labels}), {{"epochs", 5}});
//   std::vector<dl4::Tensor> out = dl4::Session(model).run({image});
//
// Everything dl4.h says holds: an object converts to its handle, so what has no method here is called there, within
// dl4::check(). Copies of an object are references to it. Threads, shapes and errors are as dl4.h says of each call.
#pragma once

#if __cplusplus < 201709L
#error "dl4.hpp needs C++20 (-std=c++20); dl4.h is for every C++ and C"
#else

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dl4.h"
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace dl4 {
inline namespace wrapper {  // for a linker other names than those of libdl4.a itself

// What the library refused. code is one of DL4_INTERNAL ...; detail is JSON, as of dl4_error_detail().
class Error : public std::runtime_error {
 public:
  Error(const char *message, int32_t its_code, std::string its_detail)
      : std::runtime_error(message), code(its_code), detail(std::move(its_detail)) {}
  int32_t code;
  std::string detail;
};

// Throws what a call returned.
inline void check(dl4_error *e) {
  if (!e) return;
  Error error(dl4_error_message(e), dl4_error_code(e), dl4_error_detail(e));
  dl4_release(e);
  throw error;
}

// A reference to an object; empty if default-made.
template <class T>
class Object {
 public:
  Object() = default;
  explicit Object(T *owned) : handle_(owned) {}
  Object(const Object &o) : handle_(o.handle_) { dl4_retain(handle_); }
  Object(Object &&o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Object &operator=(Object o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Object() { dl4_release(handle_); }
  operator T *() const { return handle_; }
  T *get() const { return handle_; }

  // Text for people (1), JSON (0) or a DOT drawing (2).
  std::string describe(int32_t format = DL4_FORMAT_TEXT) const;

 protected:
  // Of a function whose last parameter is what it makes.
  template <class F, class... A>
  static T *made(F function, A... arguments) {
    T *out = nullptr;
    check(function(arguments..., &out));
    return out;
  }

 private:
  T *handle_ = nullptr;
};

// Text of a function that gives a blob.
template <class F, class... A>
std::string text(F function, A... arguments) {
  dl4_blob *b = nullptr;
  check(function(arguments..., &b));
  const Object<dl4_blob> blob(b);
  return {dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))};
}

template <class T>
std::string Object<T>::describe(int32_t format) const {
  return text(dl4_describe, static_cast<const void *>(handle_), format);
}

// Of the library, "1.2.3".
inline std::string version() {
  const int32_t v = dl4_version();
  return std::to_string(v / 1000000) + '.' + std::to_string(v / 1000 % 1000) + '.' + std::to_string(v % 1000);
}

// Attributes of a layer, options of a call: {{"units", 8}, {"activation", "relu"}, {"kernel_size", {3, 3}}}, or JSON.
class Attrs {
 public:
  // A key with its value.
  class Item {
   public:
    Item(const char *key, bool v) : Item(key, v ? "true" : "false", raw) {}
    template <std::integral V>
    Item(const char *key, V v) : Item(key, std::to_string(v), raw) {}
    Item(const char *key, double v) : Item(key, number(v), raw) {}
    Item(const char *key, const char *v) : Item(key, quoted(v), raw) {}
    Item(const char *key, const std::string &v) : Item(key, quoted(v), raw) {}
    Item(const char *key, const std::vector<int64_t> &v) : Item(key, list(v), raw) {}
    Item(const char *key, const std::vector<std::string> &v) : Item(key, list(v), raw) {}
    Item(const char *key, const Attrs &v) : Item(key, v.text_, raw) {}
    // The text of a value.
    static Item json(const char *key, const std::string &text) { return Item(key, text, raw); }

   private:
    friend class Attrs;
    enum Raw { raw };
    Item(const char *key, const std::string &text, Raw) : member_(quoted(key) + ": " + text) {}
    static std::string number(double v) {
      char text[32];
      return {text, std::to_chars(text, text + sizeof text, v).ptr};
    }
    static std::string quoted(const std::string &s) {
      std::string all = "\"";
      for (const char c : s) {
        if (c == '"' || c == '\\') all += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr char digits[] = "0123456789abcdef";
          all += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        } else {
          all += c;
        }
      }
      return all + '"';
    }
    template <class V>
    static std::string list(const std::vector<V> &values) {
      std::string all = "[";
      for (const V &v : values) {
        if (all.size() > 1) all += ", ";
        if constexpr (std::is_same_v<V, std::string>)
          all += quoted(v);
        else
          all += std::to_string(v);
      }
      return all + ']';
    }
    std::string member_;
  };

  Attrs() = default;
  Attrs(std::initializer_list<Item> items) {
    for (const Item &item : items) set(item);
  }
  // The text of an object.
  static Attrs json(std::string text) {
    Attrs a;
    a.text_ = std::move(text);
    return a;
  }
  // {"class_name", "config"}: a kind with attributes, as the value of an attribute.
  static Attrs kind(const char *class_name, const Attrs &config) {
    return {{"class_name", class_name}, {"config", config}};
  }
  // A key that is not there yet.
  void set(const Item &item) {
    const size_t end = text_.rfind('}'), last = text_.find_last_not_of(" \t\r\n", end - 1);
    if (end == std::string::npos || last == std::string::npos) throw std::invalid_argument("dl4::Attrs: not an object");
    text_.insert(end, (text_[last] == '{' ? "" : ", ") + item.member_);
  }
  // Symbolic call arguments, such as initial_state.
  Attrs &nodes(const char *key, std::span<const dl4_node> list) {
    nodes_.emplace_back(key, std::vector<dl4_node>(list.begin(), list.end()));
    return *this;
  }
  // A model as a layer, as of dl4_refs_set_model().
  Attrs &model(const char *key, const Object<dl4_model> &m) {
    models_.emplace_back(key, m);
    return *this;
  }
  const char *c_str() const { return text_.c_str(); }
  // The models and nodes; empty if there are none.
  Object<dl4_refs> refs() const {
    if (models_.empty() && nodes_.empty()) return {};
    dl4_refs *made = nullptr;
    check(dl4_refs_create(&made));
    Object<dl4_refs> refs(made);
    for (const auto &[key, m] : models_) check(dl4_refs_set_model(refs, key.c_str(), m));
    for (const auto &[key, list] : nodes_)
      check(dl4_refs_set_nodes(refs, key.c_str(), list.data(), static_cast<int64_t>(list.size())));
    return refs;
  }

 private:
  std::string text_ = "{}";
  std::vector<std::pair<std::string, std::vector<dl4_node>>> nodes_;
  std::vector<std::pair<std::string, Object<dl4_model>>> models_;
};

class Context : public Object<dl4_context> {
 public:
  explicit Context(const Attrs &options = {}) : Object(made(dl4_context_create, options.c_str())) {}
};

// The number of a type of data.
template <class T>
inline constexpr int32_t dtype = 0;
template <>
inline constexpr int32_t dtype<float> = DL4_FLOAT32;
template <>
inline constexpr int32_t dtype<double> = DL4_FLOAT64;
template <>
inline constexpr int32_t dtype<int32_t> = DL4_INT32;
template <>
inline constexpr int32_t dtype<int64_t> = DL4_INT64;
template <>
inline constexpr int32_t dtype<uint8_t> = DL4_UINT8;
template <>
inline constexpr int32_t dtype<bool> = DL4_BOOL;

using Dims = std::vector<int64_t>;

class Tensor : public Object<dl4_tensor> {
 public:
  Tensor() = default;
  explicit Tensor(dl4_tensor *owned) : Object(owned) {}
  // Zeros.
  template <class T = float>
  static Tensor zeros(const Dims &dims) {
    return Tensor(made(dl4_tensor_create, nullptr, dtype<T>, rank_of(dims), dims.data()));
  }
  // A copy of values.
  template <class T>
  static Tensor of(std::span<const T> values, const Dims &dims) {
    Tensor t = zeros<T>(dims);
    check(dl4_tensor_copy_in(t, values.data(), static_cast<int64_t>(values.size_bytes())));
    return t;
  }
  static Tensor of(const std::vector<float> &values, const Dims &dims) { return of(std::span(values), dims); }
  // A copy of strings.
  static Tensor of_strings(const std::vector<std::string> &strings, const Dims &dims) {
    std::vector<const char *> data;
    std::vector<int64_t> lengths;
    for (const std::string &s : strings) data.push_back(s.data()), lengths.push_back(static_cast<int64_t>(s.size()));
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    if (n != static_cast<int64_t>(strings.size()))
      throw std::invalid_argument("dl4::Tensor::of_strings: as many strings as elements");
    return Tensor(made(dl4_tensor_from_strings, nullptr, rank_of(dims), dims.data(), data.data(), lengths.data()));
  }
  // Over values, which must outlive it, without a copy.
  template <class T>
  static Tensor over(std::span<T> values, const Dims &dims) {
    return Tensor(made(dl4_tensor_wrap, nullptr, dtype<T>, rank_of(dims), dims.data(), nullptr, values.data(),
                       static_cast<int64_t>(values.size_bytes()), nullptr, nullptr));
  }
  // Of NumPy's files, .npz by name, .npy.
  static Tensor load(const std::string &path, const char *name = nullptr) {
    return Tensor(made(dl4_tensor_load, nullptr, path.c_str(), name));
  }
  void save(const std::string &path) const { check(dl4_tensor_save(get(), path.c_str())); }

  Dims dims() const {
    const int64_t *d = dl4_tensor_dims(get());
    return d ? Dims(d, d + dl4_tensor_rank(get())) : Dims();
  }
  // String i where it lies; none of a tensor of another type.
  std::string_view string(int64_t i) const {
    int64_t bytes = 0;
    const char *s = dl4_tensor_string(get(), i, &bytes);
    return s ? std::string_view(s, static_cast<size_t>(bytes)) : std::string_view();
  }
  // Its elements where they lie; of a tensor of that type that is dense.
  template <class T = float>
  std::span<T> data() const {
    if (dl4_tensor_dtype(get()) != dtype<T>) throw std::invalid_argument("dl4::Tensor::data: of another type");
    return {static_cast<T *>(dl4_tensor_data(get())), static_cast<size_t>(dl4_tensor_bytes(get())) / sizeof(T)};
  }

 private:
  static int32_t rank_of(const Dims &dims) { return static_cast<int32_t>(dims.size()); }
};

// The handles of a list of tensors.
inline std::vector<dl4_tensor *> handles(std::span<const Tensor> tensors) { return {tensors.begin(), tensors.end()}; }
using Tensors = std::vector<Tensor>;

inline std::vector<std::string> port_names(const void *object, int32_t which) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < dl4_port_count(object, which); ++i) names.emplace_back(dl4_port_name(object, which, i));
  return names;
}

using Node = dl4_node;
using Nodes = std::vector<Node>;

class Model : public Object<dl4_model> {
 public:
  Model() = default;
  explicit Model(dl4_model *owned) : Object(owned) {}
  static Model load(const std::string &path, const Context *c = nullptr) {
    return Model(made(dl4_model_load, c ? c->get() : nullptr, path.c_str(), nullptr));
  }
  // Of a file's bytes; of a file of ours the weights stay in the tensor's memory.
  static Model load(const Tensor &file, const Context *c = nullptr) {
    return Model(made(dl4_model_load_bytes, c ? c->get() : nullptr, file.get(), nullptr));
  }
  void save(const std::string &path) const { check(dl4_model_save(get(), path.c_str(), nullptr)); }
  Tensor weight(const std::string &name) const {
    dl4_tensor *t = nullptr;
    check(dl4_model_get_weight(get(), name.c_str(), &t));
    return Tensor(t);
  }
  void set_weight(const std::string &name, const Tensor &v) { check(dl4_model_set_weight(get(), name.c_str(), v)); }
  std::vector<std::string> weight_names() const { return port_names(get(), DL4_WEIGHTS); }
};

class Graph : public Object<dl4_graph> {
 public:
  Graph() : Object(made(dl4_graph_create, nullptr)) {}
  explicit Graph(const Context &c) : Object(made(dl4_graph_create, c.get())) {}

  // dims with the batch axis; -1 is free.
  Node input(const char *name, const Dims &dims, int32_t type = DL4_FLOAT32) {
    Node n = -1;
    check(dl4_graph_add_input(get(), name, type, static_cast<int32_t>(dims.size()), dims.data(), &n));
    return n;
  }
  // A layer called once: its only output, or the first.
  Node add(const char *kind, Node x, const Attrs &config = {}, const char *name = nullptr) {
    return add(kind, Nodes{x}, config, name);
  }
  Node add(const char *kind, const Nodes &in, const Attrs &config = {}, const char *name = nullptr) {
    return call(layer(kind, config, name), in)[0];
  }
  // A layer to be called, more than once if wanted.
  dl4_layer layer(const char *kind, const Attrs &config = {}, const char *name = nullptr) {
    dl4_layer l = -1;
    check(dl4_graph_add_layer(get(), kind, name, config.c_str(), config.refs(), &l));
    return l;
  }
  // All outputs.
  Nodes call(dl4_layer l, const Nodes &in, const Attrs &arguments = {}) {
    Node first = -1;
    check(dl4_graph_call(get(), l, arguments.c_str(), arguments.refs(), in.data(), static_cast<int64_t>(in.size()),
                         &first, 1));
    int64_t count = 0;
    check(dl4_node_outputs(get(), first, nullptr, 0, &count));
    Nodes all(static_cast<size_t>(count));
    check(dl4_node_outputs(get(), first, all.data(), count, &count));
    return all;
  }
  // A value that never changes.
  Node constant(const Tensor &v, const char *name = nullptr) {
    Node n = -1;
    check(dl4_graph_add_constant(get(), name, v, &n));
    return n;
  }
  // The value of a weight, "<layer>/<weight>": what it holds where this stands among the assignments.
  Node weight(const std::string &name) {
    Node n = -1;
    check(dl4_graph_add_weight(get(), name.c_str(), &n));
    return n;
  }
  // Of targets by each node of `by`. output_gradients: one for each target, -1 for ones, or none at all.
  Nodes gradients(const Nodes &targets, const Nodes &by, const Attrs &config = {}, const Nodes &output_gradients = {}) {
    if (!output_gradients.empty() && output_gradients.size() != targets.size())
      throw std::invalid_argument("dl4::Graph::gradients: expected an output gradient for each target");
    Nodes found(by.size(), -1);
    const auto n = static_cast<int64_t>(by.size());
    check(dl4_graph_add_gradients(get(), config.c_str(), targets.data(), static_cast<int64_t>(targets.size()),
                                  output_gradients.empty() ? nullptr : output_gradients.data(), by.data(), n,
                                  found.data(), n));
    return found;
  }
  // The new value of a weight, a node of weight() or of a layer Weight.
  Node assign(Node weight, Node value, const Attrs &config = {}) {
    Node n = -1;
    check(dl4_graph_add_assign(get(), config.c_str(), weight, value, &n));
    return n;
  }
  // One update of the optimizer in config: the number of updates so far. learning_rate: in place of the optimizer's.
  Node update(const Attrs &config, const Nodes &weights, const Nodes &gradients, const char *name = nullptr,
              Node learning_rate = -1) {
    Node n = -1;
    check(dl4_graph_add_update(get(), name, config.c_str(), learning_rate, weights.data(),
                               static_cast<int64_t>(weights.size()), gradients.data(),
                               static_cast<int64_t>(gradients.size()), &n));
    return n;
  }
  // The value of a node, in a model that makes the assignments `others` too.
  Node after(Node node, const Nodes &others) {
    Node n = -1;
    check(dl4_graph_add_after(get(), node, others.data(), static_cast<int64_t>(others.size()), &n));
    return n;
  }
  Dims shape(Node n) const {
    std::array<int64_t, DL4_MAX_RANK> dims;
    int32_t rank = 0;
    check(dl4_node_shape(get(), n, dims.data(), DL4_MAX_RANK, &rank));
    return {dims.begin(), dims.begin() + rank};
  }
  Model build(const Nodes &in, const Nodes &out) {
    dl4_model *m = nullptr;
    check(dl4_graph_build(get(), in.data(), static_cast<int64_t>(in.size()), out.data(),
                          static_cast<int64_t>(out.size()), &m));
    return Model(m);
  }
};

// One call that runs a session or a stream.
template <class T>
using Run = dl4_error *(*)(T *, dl4_tensor *const *, int64_t, dl4_tensor **, int64_t, dl4_cancel *);

template <class T>
void run_into(Run<T> run, T *object, std::span<const Tensor> in, std::span<const Tensor> out) {
  const auto from = handles(in);
  auto to = handles(out);
  check(
      run(object, from.data(), static_cast<int64_t>(from.size()), to.data(), static_cast<int64_t>(to.size()), nullptr));
}

template <class T>
Tensors run_new(Run<T> run, T *object, int64_t outputs, std::span<const Tensor> in) {
  std::vector<dl4_tensor *> out(static_cast<size_t>(outputs));
  const auto from = handles(in);
  check(run(object, from.data(), static_cast<int64_t>(from.size()), out.data(), outputs, nullptr));
  Tensors all;
  for (dl4_tensor *t : out) all.emplace_back(t);
  return all;
}

class Session : public Object<dl4_session> {
 public:
  explicit Session(const Model &m, const Attrs &options = {})
      : Object(made(dl4_session_create, m.get(), options.c_str())) {}
  // New tensors.
  Tensors run(std::span<const Tensor> in) const {
    return run_new(dl4_session_run, get(), dl4_port_count(get(), DL4_OUTPUTS), in);
  }
  Tensors run(std::initializer_list<Tensor> in) const { return run(std::span(in.begin(), in.size())); }
  // Into tensors of yours; allocates nothing but the two lists.
  void run(std::span<const Tensor> in, std::span<const Tensor> out) const { run_into(dl4_session_run, get(), in, out); }
};

// A sequence that goes on, of a Session made with {"states": true} or {"streamable": true}.
class Stream : public Object<dl4_stream> {
 public:
  explicit Stream(const Session &s, const Attrs &options = {})
      : Object(made(dl4_stream_create, s.get(), options.c_str())) {}
  Tensors run(std::span<const Tensor> in) const {
    return run_new(dl4_stream_run, get(), dl4_port_count(get(), DL4_OUTPUTS), in);
  }
  Tensors run(std::initializer_list<Tensor> in) const { return run(std::span(in.begin(), in.size())); }
  void run(std::span<const Tensor> in, std::span<const Tensor> out) const { run_into(dl4_stream_run, get(), in, out); }
  // The next steps of many streams of one session, in one call: row i of the tensors is that of the i-th, which takes
  // as many steps as steps has for it; none: all of them take every step.
  static Tensors run_many(std::span<const Stream> streams, std::span<const int64_t> steps, std::span<const Tensor> in) {
    const std::vector<dl4_stream *> all(streams.begin(), streams.end());
    const int64_t *counts = steps.empty() ? nullptr : steps.data();
    const auto from = handles(in);
    std::vector<dl4_tensor *> out(static_cast<size_t>(all.empty() ? 0 : dl4_port_count(all[0], DL4_OUTPUTS)));
    check(dl4_stream_run_many(all.data(), static_cast<int64_t>(all.size()), counts, from.data(),
                              static_cast<int64_t>(from.size()), out.data(), static_cast<int64_t>(out.size()),
                              nullptr));
    Tensors made;
    for (dl4_tensor *t : out) made.emplace_back(t);
    return made;
  }
  // The next steps, and the id that follows in each of `batch` sequences, drawn from the model's logits.
  std::vector<int64_t> next(std::span<const Tensor> in, const Attrs &options = {}, int64_t batch = 1,
                            dl4_logits_fn logits = nullptr, void *user = nullptr) const {
    const auto from = handles(in);
    std::vector<int64_t> ids(static_cast<size_t>(batch));
    check(dl4_stream_next(get(), from.data(), static_cast<int64_t>(from.size()), options.c_str(), logits, user,
                          ids.data(), batch, nullptr));
    return ids;
  }
  std::vector<int64_t> next(std::initializer_list<Tensor> in, const Attrs &options = {}) const {
    return next(std::span(in.begin(), in.size()), options);
  }
  // A second one that goes on from here.
  Stream fork(const Attrs &options = {}) const { return Stream(made(dl4_stream_fork, get(), options.c_str())); }
  void reset() const { check(dl4_stream_reset(get())); }
  void reset_row(int64_t row) const { check(dl4_stream_reset_row(get(), row)); }
  // Where it stands, and going on from there.
  std::string save() const { return text(dl4_stream_save_bytes, get()); }
  void load(const std::string &bytes) const {
    check(dl4_stream_load_bytes(get(), bytes.data(), static_cast<int64_t>(bytes.size())));
  }

 private:
  explicit Stream(dl4_stream *made) : Object(made) {}
};

class Dataset : public Object<dl4_dataset> {
 public:
  // w: sample weights, one for each target, or none at all.
  Dataset(const Tensors &x, const Tensors &y, const Tensors &w = {}, const Attrs &options = {})
      : Dataset(handles(x), handles(y), handles(w), options) {}
  Dataset(const Tensors &x, const Tensors &y, const Attrs &options) : Dataset(x, y, {}, options) {}
  // The attributes of a layer that has learned from the inputs, as dl4_adapt() says.
  Attrs adapt(const char *kind, const Attrs &config = {}) {
    dl4_blob *learned = nullptr;
    check(dl4_adapt(nullptr, kind, config.c_str(), get(), nullptr, &learned));
    const Object<dl4_blob> owned(learned);
    return Attrs::json(dl4_blob_data(learned));
  }

 private:
  using Handles = std::vector<dl4_tensor *>;
  Dataset(const Handles &x, const Handles &y, const Handles &w, const Attrs &options)
      : Object(made(dl4_dataset_from_tensors, nullptr, x.data(), static_cast<int64_t>(x.size()), y.data(),
                    static_cast<int64_t>(y.size()), w.data(), static_cast<int64_t>(w.size()), options.c_str())) {}
};

class Trainer : public Object<dl4_trainer> {
 public:
  // Of dl4_progress_fn. What it throws comes out of fit().
  enum class Flow : int32_t { Continue = DL4_CONTINUE, Stop = DL4_STOP };
  using Progress = std::function<Flow(int32_t event, int64_t step, int64_t total, std::span<const double> metrics)>;

  Trainer(const Model &m, const Attrs &options) : Object(made(dl4_trainer_create, m.get(), options.c_str())) {}
  // Of a model from a file of Keras: as it was compiled there.
  explicit Trainer(const Model &m) : Object(made(dl4_trainer_create, m.get(), nullptr)) {}

  // The metrics of the batch, the loss first.
  std::vector<double> step(const Tensors &x, const Tensors &y, const Tensors &w = {}) {
    const auto xs = handles(x), ys = handles(y), ws = handles(w);
    return metrics([&](double *to, int64_t cap, int64_t *n) {
      return dl4_trainer_step(get(), xs.data(), static_cast<int64_t>(xs.size()), ys.data(),
                              static_cast<int64_t>(ys.size()), ws.data(), static_cast<int64_t>(ws.size()), to, cap, n);
    });
  }
  // The history, as JSON.
  std::string fit(const Dataset &train, const Attrs &options = {}, const Dataset *valid = nullptr,
                  Progress progress = {}) {
    Outside<Progress> told{std::move(progress), raised_};
    auto tell = [](void *user, int32_t event, int64_t step, int64_t total, const double *m, int64_t n) -> int32_t {
      auto &t = *static_cast<Outside<Progress> *>(user);
      return t.call([&] { return static_cast<int32_t>(t.function(event, step, total, {m, static_cast<size_t>(n)})); });
    };
    dl4_blob *history = nullptr;
    rethrow(dl4_trainer_fit(get(), train, valid ? valid->get() : nullptr, options.c_str(),
                            told.function ? +tell : nullptr, &told, nullptr, &history));
    const Object<dl4_blob> owned(history);
    return dl4_blob_data(history);
  }
  // Of the numbers that step(), evaluate() and a Progress give, the loss first.
  std::vector<std::string> metric_names() const { return port_names(get(), DL4_METRICS); }
  std::vector<double> evaluate(const Dataset &d) {
    return metrics(
        [&](double *to, int64_t cap, int64_t *n) { return dl4_trainer_evaluate(get(), d, nullptr, to, cap, n); });
  }
  double get_number(const char *key) const {
    double v = 0;
    check(dl4_trainer_get_number(get(), key, &v));
    return v;
  }
  void set_number(const char *key, double v) { check(dl4_trainer_set_number(get(), key, v)); }
  void save(const std::string &path) const { check(dl4_trainer_save(get(), path.c_str())); }
  void load(const std::string &path) { check(dl4_trainer_load(get(), path.c_str())); }
  // Of dl4_reduce_fn; what it throws comes out of the call under way. An empty one: trains alone again.
  using Reduce = std::function<void(void *values, int64_t n, int32_t dtype)>;
  void set_workers(int64_t rank, int64_t size, Reduce reduce) {
    auto kept = std::make_unique<Outside<Reduce>>(std::move(reduce), raised_);
    auto call = [](void *user, void *values, int64_t n, int32_t dtype) -> int32_t {
      auto &r = *static_cast<Outside<Reduce> *>(user);
      return r.call([&] { return r.function(values, n, dtype), DL4_CONTINUE; });
    };
    rethrow(dl4_trainer_set_workers(get(), rank, size, kept->function ? +call : nullptr, kept.get(),
                                    [](void *user) { delete static_cast<Outside<Reduce> *>(user); }));
    kept.release();
  }

 private:
  // A function of yours, and where what it throws waits for the call to end.
  template <class F>
  struct Outside {
    Outside(F f, std::shared_ptr<std::exception_ptr> r) : function(std::move(f)), raised(std::move(r)) {}
    // -1 where `f` throws. The end of the thread is no exception to be kept.
    template <class Call>
    int32_t call(Call f) const {
      try {
        return f();
#ifdef __GLIBCXX__
      } catch (abi::__forced_unwind &) {
        throw;
#endif
      } catch (...) {
        *raised = std::current_exception();
        return -1;
      }
    }
    F function;
    std::shared_ptr<std::exception_ptr> raised;
  };
  void rethrow(dl4_error *e) const {
    const std::exception_ptr raised = std::exchange(*raised_, nullptr);
    if (raised && e && dl4_error_code(e) == DL4_CALLBACK_FAILED) {
      dl4_release(e);
      std::rethrow_exception(raised);
    }
    check(e);
  }
  template <class F>
  std::vector<double> metrics(F call) {
    std::vector<double> values(4096);
    int64_t n = 0;
    rethrow(call(values.data(), static_cast<int64_t>(values.size()), &n));
    values.resize(static_cast<size_t>(n));
    return values;
  }

  std::shared_ptr<std::exception_ptr> raised_ = std::make_shared<std::exception_ptr>();  // of all copies
};

}  // namespace wrapper
}  // namespace dl4

#endif
