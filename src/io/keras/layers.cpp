// Weight layouts of old Keras versions; see hdf5_format.py of tf.keras.
#include "io/keras/store.hpp"

#include "io/tensors.hpp"

namespace dl4::io {
namespace {

using Members = std::vector<const graph::Weight *>;

// The weight's name in its layer: "kernel" for "dense/kernel:0".
std::string last_word(const std::string &name) {
  const size_t slash = name.rfind('/') + 1;
  return name.substr(slash, name.find(':', slash) - slash);
}

[[noreturn]] void refuse(const graph::Layer &l, Code code, const std::string &why) {
  throw Error(code, text("layer \"", l.name, "\": ", why)).with("layer", l.name);
}

// Number of gates in a recurrent layer's three weights; 0 if it is not recurrent.
int64_t gates_of(const Members &group) {
  if (group.size() < 2 || last_word(group[1]->name) != "recurrent_kernel") return 0;
  const Shape &recurrent = group[1]->spec.shape;
  return recurrent.rank() == 2 && recurrent[0] > 0 ? recurrent[1] / recurrent[0] : 0;
}

// Concatenates matrices with equal rows, or vectors, by columns.
Tensor side_by_side(const std::vector<const Tensor *> &parts, const graph::Weight &w) {
  const Shape &shape = w.spec.shape;
  const int64_t n = static_cast<int64_t>(parts.size()), columns = shape.last() / n,
                rows = shape.elements() / shape.last();
  Tensor to = make_tensor(DType::f32, shape);
  for (int64_t p = 0; p < n; ++p) {
    const Tensor &from = *parts[static_cast<size_t>(p)];
    if (from.shape != shape.with(-1, columns))
      throw of_weight(Code::shape_mismatch, w,
                      text("expected parts of ", shape.with(-1, columns), ", the file has ", from.shape));
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(from.as<float>() + row * columns, columns, to.as<float>() + row * shape.last() + p * columns);
  }
  return to;
}

// Keras 1: kernel, recurrent kernel and bias per gate; an LSTM's order is i, c, f, o, now i, f, c, o.
std::vector<Tensor> from_gates(const Members &group, const std::vector<Tensor> &stored) {
  std::vector<size_t> order{0, 1, 2};
  const auto gates = static_cast<size_t>(gates_of(group));
  if (gates == 4) order = {0, 2, 1, 3};
  if (gates == 1) order = {0};
  std::vector<Tensor> made;
  for (size_t i = 0; i < group.size(); ++i) {
    std::vector<const Tensor *> parts;
    for (size_t gate : order) parts.push_back(&stored[gate * group.size() + i]);
    made.push_back(side_by_side(parts, *group[i]));
  }
  return made;
}

// Converts each gate's cuDNN matrix: reordered columns or transposed.
Tensor from_cudnn(const Tensor &t, int64_t gates, bool recurrent) {
  Tensor to = make_tensor(DType::f32, t.shape);
  const int64_t rows = t.shape[0], columns = t.shape[1], units = columns / gates;
  for (int64_t g = 0; g < gates; ++g)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < units; ++c) {
        const int64_t place = r + rows * c, row = recurrent ? c : place / units, column = recurrent ? r : place % units;
        to.as<float>()[r * columns + g * units + c] = t.as<float>()[row * columns + g * units + column];
      }
  return to;
}

// CuDNNLSTM and CuDNNGRU: recognised by a bias for each product.
bool is_cudnn(const Members &group, const std::vector<Tensor> &stored) {
  const int64_t gates = gates_of(group);
  if (group.size() != 3 || stored.size() != 3 || (gates != 4 && gates != 3)) return false;
  return stored[2].shape == Shape{2 * gates * group[1]->spec.shape[0]} && stored[0].shape == group[0]->spec.shape &&
         stored[1].shape == group[1]->spec.shape;
}

std::vector<Tensor> of_cudnn(const Members &group, const std::vector<Tensor> &stored) {
  const int64_t gates = gates_of(group);
  Tensor bias = make_tensor(DType::f32, group[2]->spec.shape);
  const int64_t n = bias.elements();
  for (int64_t i = 0; i < n; ++i)
    bias.as<float>()[i] = stored[2].as<float>()[i] + (gates == 4 ? stored[2].as<float>()[n + i] : 0.0f);
  return {from_cudnn(stored[0], gates, false), from_cudnn(stored[1], gates, true), bias};
}

// A Convolution1D kernel of Keras 1 has an extra axis of size 1.
Tensor kernel_of_1(Tensor t, const Shape &wanted) {
  if (t.shape.rank() == 4 && wanted.rank() == 3 && t.shape[1] == 1) t.shape = t.shape.without(1);
  return t;
}

// Number of the file's tensors for the weights of a group.
size_t stored_for(const Members &group, int major) {
  return major < 2 && gates_of(group) > 0 ? group.size() * static_cast<size_t>(gates_of(group)) : group.size();
}

std::vector<Tensor> converted(const Members &group, std::vector<Tensor> stored, int major) {
  if (major < 2 && gates_of(group) > 0) return from_gates(group, stored);
  if (is_cudnn(group, stored)) return of_cudnn(group, stored);
  if (major < 2 && last_word(group[0]->name) == "kernel") stored[0] = kernel_of_1(stored[0], group[0]->spec.shape);
  return stored;
}

// 8-bit integers, signed or unsigned, bit by bit.
Tensor to_bytes(const Tensor &t, const std::string &name) {
  Tensor to = make_tensor(DType::u8, t.shape);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t v = t.dtype == DType::i64 ? t.as<int64_t>()[i] : INT64_MAX;
    if (v < INT8_MIN || v > UINT8_MAX)
      throw Error(Code::corrupt_file, text("weight \"", name, "\": expected integers of 8 bits")).with("tensor", name);
    to.as<uint8_t>()[i] = static_cast<uint8_t>(v);
  }
  return to;
}

[[noreturn]] void refuse_number(const graph::Layer &l, size_t here, size_t there) {
  if (there == 0) refuse(l, Code::not_found, "the file has no weights of it");
  refuse(l, Code::shape_mismatch, text("it has ", here, " weights, the file ", there));
}

}  // namespace

Error of_weight(Code code, const graph::Weight &w, const std::string &why) {
  Error error(code, text("weight \"", w.name, "\": ", why));
  error.with("weight", w.name).with("layer", w.name.substr(0, w.name.size() - w.spec.name.size() - 1));
  return error;
}

Tensor weight_at(const Hdf5 &file, const std::string &path, const graph::Weight &w) {
  const auto it = file.datasets().find(path);
  if (it == file.datasets().end())
    throw of_weight(Code::not_found, w, text("the file has no \"", path, '"')).with("tensor", path);
  if (!std::ranges::equal(it->second.dims, w.spec.shape.dims()))
    throw of_weight(
        Code::shape_mismatch, w,
        text("expected ", w.spec.shape, ", \"", path, "\" is ", Json(it->second.dims).dump(),
             w.name.ends_with("/zero_point") ? ": Keras 3.15.1 leaves zero points of gptq and awq out of its files"
                                             : ""))
        .with("tensor", path);
  const Tensor t = file.read(path);
  return w.spec.dtype == DType::u8 ? to_bytes(t, w.name) : to_float32(t);
}

void read_layer(const Hdf5 &file, const std::string &group, int major, const graph::Layer &l,
                std::map<const graph::Weight *, Tensor> &values) {
  Members weights;  // in the order of Keras's layer.trainable_weights, then the others
  for (bool trained : {true, false})
    for (const auto &w : l.weights)
      if (w->trainable() == trained && !w->spec.kept) weights.push_back(w.get());
  const std::string path = group + l.name;
  const std::vector<std::string> names = file.texts(path, "weight_names");
  size_t next = 0;
  for (size_t begin = 0, end = 0; begin < weights.size(); begin = end) {
    const auto layer_of = [&](size_t i) { return weights[i]->name.substr(0, weights[i]->name.rfind('/')); };
    while (end < weights.size() && layer_of(end) == layer_of(begin)) ++end;
    const Members part(weights.begin() + static_cast<std::ptrdiff_t>(begin),
                       weights.begin() + static_cast<std::ptrdiff_t>(end));
    const size_t count = stored_for(part, major);
    if (count > names.size() - next) refuse_number(l, weights.size(), names.size());
    std::vector<Tensor> stored;
    for (size_t i = 0; i < count; ++i) {
      const std::string &name = names[next + i];
      const std::string word = last_word(name);
      if (major >= 2 && last_word(part[i]->name) != word &&
          !(word == "depthwise_kernel" && last_word(part[i]->name) == "kernel") &&  // DepthwiseConv2D of tf.keras
          !word.starts_with("variable"))  // an unnamed weight: variable, variable_1 ...
        throw Error(Code::unsupported, text("layer \"", l.name, "\": weight ", next + i, " is \"", name,
                                            "\" in the file, expected \"", part[i]->name, '"'))
            .with("layer", l.name);
      if (!file.datasets().count(path + '/' + name))
        refuse(l, Code::corrupt_file, text("the file has no \"", path, '/', name, '"'));
      const Tensor t = file.read(path + '/' + name);
      const bool bytes = i < part.size() && part[i]->spec.dtype == DType::u8;
      stored.push_back(bytes ? to_bytes(t, part[i]->name) : to_float32(t));
    }
    next += count;
    stored = converted(part, std::move(stored), major);
    for (size_t i = 0; i < part.size(); ++i) {
      if (stored[i].shape != part[i]->spec.shape)
        refuse(
            l, Code::shape_mismatch,
            text("weight \"", part[i]->name, "\": expected ", part[i]->spec.shape, ", the file has ", stored[i].shape));
      values[part[i]] = std::move(stored[i]);
    }
  }
  if (next != names.size()) refuse_number(l, weights.size(), names.size());
}

}  // namespace dl4::io
