#include "graph/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "kinds/layers/core/quantization.hpp"

namespace dl4::graph {
namespace {

using kinds::Quantization;

[[noreturn]] void refuse(const std::string &layer, const std::string &why) {
  throw Error(Code::unsupported, text("layer \"", layer, "\": ", why)).with("layer", layer);
}

bool is_any(std::string_view word, std::initializer_list<const char *> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
bool is_table(const std::string &class_name) { return is_any(class_name, {"Embedding", "ReversibleEmbedding"}); }
bool in_heads(const std::string &class_name) {
  return is_any(class_name, {"MultiHeadAttention", "GroupQueryAttention"});
}
bool can_be(const std::string &class_name) {
  return is_table(class_name) || in_heads(class_name) || is_any(class_name, {"Dense", "EinsumDense"});
}

// A kernel as a matrix: columns have scales.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  // row by row
};
struct Whole {
  std::vector<int> values, zeros;  // zeros and scales: by groups of rows, each with all columns
  std::vector<float> scales;
};

struct Range {
  float least, most, epsilon;
};

// As keras.quantizers.abs_max_quantize, in float32.
Whole by_column(const Matrix &m, const Range &range) {
  Whole w{std::vector<int>(m.values.size()), {}, std::vector<float>(static_cast<size_t>(m.columns))};
  for (int64_t c = 0; c < m.columns; ++c) {
    float largest = 0;
    const auto at = [&](int64_t r) { return static_cast<size_t>(r * m.columns + c); };
    for (int64_t r = 0; r < m.rows; ++r) largest = std::max(largest, std::abs(m.values[at(r)]));
    const float scale = range.most / (largest + range.epsilon);
    w.scales[static_cast<size_t>(c)] = scale;
    for (int64_t r = 0; r < m.rows; ++r)
      w.values[at(r)] =
          static_cast<int>(std::min(std::max(std::nearbyint(m.values[at(r)] * scale), range.least), range.most));
  }
  return w;
}

// As keras.quantizers.abs_max_quantize_grouped_with_zero_point: what a last block lacks counts as zeros.
Whole by_block(const Matrix &m, int64_t block) {
  constexpr float least = -8, most = 7, epsilon = 1e-7f;
  const int64_t groups = (m.rows + block - 1) / block;
  const auto n = static_cast<size_t>(groups * m.columns);
  Whole w{std::vector<int>(m.values.size()), std::vector<int>(n), std::vector<float>(n)};
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t c = 0; c < m.columns; ++c) {
      const int64_t begin = g * block, end = std::min(m.rows, begin + block);
      const auto at = [&](int64_t r) { return static_cast<size_t>(r * m.columns + c); };
      float low = m.values[at(begin)], high = low;
      for (int64_t r = begin; r < end; ++r)
        low = std::min(low, m.values[at(r)]), high = std::max(high, m.values[at(r)]);
      if (end - begin < block) low = std::min(low, 0.0f), high = std::max(high, 0.0f);
      const float scale = ((high - low) + epsilon) / (most - least);
      const float zero = std::min(std::max(std::nearbyint(-low / scale) + least, least), most);
      const auto of = static_cast<size_t>(g * m.columns + c);
      w.scales[of] = scale, w.zeros[of] = static_cast<int>(zero);
      for (int64_t r = begin; r < end; ++r)
        w.values[at(r)] =
            static_cast<int>(std::min(std::max(std::nearbyint(m.values[at(r)] / scale) + zero, least), most));
    }
  return w;
}

// Indices of a tensor of that shape, in their order.
template <class F>
void each_place(const Shape &s, F f) {
  std::vector<int64_t> at(static_cast<size_t>(s.rank()), 0);
  for (int64_t i = 0; i < s.elements(); ++i) {
    f(i, at);
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < s[static_cast<int>(axis)]) break;
      at[axis] = 0;
    }
  }
}

// Where each number of a kernel stands in the matrix whose rows are its axes `summed`, and whose columns are the others
// in that order.
std::vector<int64_t> places(const Shape &s, const std::vector<int> &summed, const std::vector<int> &others) {
  int64_t columns = 1;
  for (int a : others) columns *= s[a];
  std::vector<int64_t> list(static_cast<size_t>(s.elements()));
  each_place(s, [&](int64_t i, const std::vector<int64_t> &at) {
    int64_t row = 0, column = 0;
    for (int a : summed) row = row * s[a] + at[static_cast<size_t>(a)];
    for (int a : others) column = column * s[a] + at[static_cast<size_t>(a)];
    list[static_cast<size_t>(i)] = row * columns + column;
  });
  return list;
}

// The weights that one kernel becomes, by their names in the layer.
using Made = std::map<std::string, Tensor>;

Tensor bytes(const Shape &shape, const std::function<int(int64_t)> &f) {
  Tensor t = make_tensor(DType::u8, shape);
  for (int64_t i = 0; i < t.elements(); ++i) t.as<uint8_t>()[i] = static_cast<uint8_t>(f(i));
  return t;
}
Tensor floats(const Shape &shape, const std::function<double(int64_t)> &f) {
  Tensor t = make_tensor(DType::f32, shape);
  for (int64_t i = 0; i < t.elements(); ++i) t.as<float>()[i] = static_cast<float>(f(i));
  return t;
}
// Numbers of 4 bits of a matrix, two of a row in a byte.
Tensor nibbles(int64_t rows, int64_t columns, const std::function<int(int64_t, int64_t)> &f) {
  const int64_t half = (columns + 1) / 2;
  return bytes({rows, half}, [&](int64_t i) {
    const int64_t r = i / half, c = i % half * 2;
    const int low = f(r, c), high = c + 1 < columns ? f(r, c + 1) : 0;
    return (low & 15) | (high & 15) << 4;
  });
}

class Quantizer {
 public:
  Quantizer(const Quantization &q, const Quantize &how) : q_(q) {
    const bool int8 = q.mode == Quantization::Mode::int8;
    range_ = {int8 ? -127.0f : -8.0f, int8 ? 127.0f : 7.0f, static_cast<float>(how.epsilon)};
    if (!how.value_range) return;
    const auto &given = *how.value_range;
    const double limit = int8 ? 127 : 7;
    const auto is_whole = [](double v) { return v == std::round(v); };
    if (given.size() != 2 || !is_whole(given[0]) || !is_whole(given[1]) || given[0] < -limit - 1 || given[0] > 0 ||
        given[1] < 1 || given[1] > limit)
      throw Error(Code::invalid_argument, text("\"value_range\": expected two whole numbers from ", -limit - 1, " to ",
                                               limit, " around 0, got ", Json(given).dump()))
          .with("attribute", "value_range");
    range_.least = static_cast<float>(given[0]), range_.most = static_cast<float>(given[1]);
  }

  // summed: axes of the kernel; others: the rest, in the order of y.
  void kernel(const Tensor &t, const std::vector<int> &summed, const std::vector<int> &others, const std::string &name,
              Made &made) const {
    const bool int8 = q_.mode == Quantization::Mode::int8;
    // In 4 bits Keras sees the kernel as a matrix as it lies.
    std::vector<int64_t> at = places(t.shape, summed, others);
    if (!int8) std::iota(at.begin(), at.end(), 0);
    Matrix m{1, 1, std::vector<float>(at.size())};
    for (int a : summed) m.rows *= t.shape[a];
    for (int a : others) m.columns *= t.shape[a];
    for (size_t i = 0; i < at.size(); ++i) m.values[static_cast<size_t>(at[i])] = t.as<float>()[i];
    const Whole w = whole(m);
    if (int8)
      made[name] = bytes(t.shape, [&](int64_t i) { return w.values[static_cast<size_t>(at[static_cast<size_t>(i)])]; });
    else
      made[name] = nibbles(m.rows, m.columns,
                           [&](int64_t r, int64_t c) { return w.values[static_cast<size_t>(r * m.columns + c)]; });
    made[name + "_scale"] = all(w.scales);
    if (!q_.grouped()) return;
    const Shape groups{q_.groups(m.rows), m.columns};
    made[name + "_zero"] = bytes(groups, [&](int64_t i) { return w.zeros[static_cast<size_t>(i)]; });
    made["g_idx"] = floats({m.rows}, [&](int64_t i) { return static_cast<double>(i / q_.block); });
  }

  // A table (rows of numbers): each row has its scales.
  void table(const Tensor &t, Made &made) const {
    const int64_t ids = t.shape[0], size = t.shape[1];
    Matrix m{size, ids, std::vector<float>(static_cast<size_t>(t.elements()))};
    for (int64_t i = 0; i < t.elements(); ++i)
      m.values[static_cast<size_t>(i % size * ids + i / size)] = t.as<float>()[i];
    const Whole w = whole(m);
    const auto at = [&](int64_t id, int64_t k) { return w.values[static_cast<size_t>(k * ids + id)]; };
    made["embeddings"] =
        q_.bits == 4 ? nibbles(ids, size, at) : bytes(t.shape, [&](int64_t i) { return at(i / size, i % size); });
    const int64_t groups = q_.groups(size);
    const auto turned = [&](int64_t i) { return static_cast<size_t>(i % groups * ids + i / groups); };
    const Shape scales = q_.grouped() ? Shape{ids, groups} : Shape{ids};
    made["embeddings_scale"] = floats(scales, [&](int64_t i) { return w.scales[turned(i)]; });
    if (!q_.grouped()) return;
    made["embeddings_zero"] = bytes(scales, [&](int64_t i) { return w.zeros[turned(i)]; });
    made["g_idx"] = floats({size}, [&](int64_t i) { return static_cast<double>(i / q_.block); });
  }

  // The way back of a ReversibleEmbedding (size, ids): packed along its first axis, zero points as floats.
  void back(const Tensor &t, Made &made) const {
    const int64_t size = t.shape[0], ids = t.shape[1];
    const Matrix m{size, ids, {t.as<float>(), t.as<float>() + t.elements()}};
    const Whole w = whole(m);
    const std::string name = "reverse_embeddings";
    const auto at = [&](int64_t k, int64_t id) { return k < size ? w.values[static_cast<size_t>(k * ids + id)] : 0; };
    made[name] = q_.bits == 4 ? bytes({q_.stored(size), ids},
                                      [&](int64_t i) {
                                        const int64_t k = i / ids * 2, id = i % ids;
                                        return (at(k, id) & 15) | (at(k + 1, id) & 15) << 4;
                                      })
                              : bytes(t.shape, [&](int64_t i) { return at(i / ids, i % ids); });
    made[name + "_scale"] = all(w.scales);
    if (q_.grouped())
      made[name + "_zero"] = floats({q_.groups(size), ids}, [&](int64_t i) { return w.zeros[static_cast<size_t>(i)]; });
  }

 private:
  Whole whole(const Matrix &m) const { return q_.grouped() ? by_block(m, q_.block) : by_column(m, range_); }
  static Tensor all(const std::vector<float> &list) {
    return floats({static_cast<int64_t>(list.size())}, [&](int64_t i) { return list[static_cast<size_t>(i)]; });
  }

  Quantization q_;
  Range range_{};
};

// The axes of EinsumDense's kernel that are summed over, and the others in the order of y.
void axes_of(const std::string &equation, std::vector<int> &summed, std::vector<int> &others) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string kernel = equation.substr(comma + 1, arrow - comma - 1), y = equation.substr(arrow + 2);
  for (size_t i = 0; i < kernel.size(); ++i)
    if (y.find(kernel[i]) == std::string::npos) summed.push_back(static_cast<int>(i));
  for (char l : y)
    if (const size_t at = kernel.find(l); at != std::string::npos) others.push_back(static_cast<int>(at));
}

class Rewriting {
 public:
  Rewriting(const Model &m, const Quantize &how, const Quantization &q, const Json &as_json)
      : m_(m), how_(how), quantizer_(q, how), json_(as_json), q_(q) {
    if (how.layers) wanted_.insert(how.layers->begin(), how.layers->end());
  }

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    rewrite(a, "");
    for (const std::string &name : wanted_)
      if (!found_.count(name))
        throw Error(Code::not_found, text("the model has no layer \"", name, '"'))
            .with("layer", name)
            .suggest(name, names_);
    return model_of(a, m_.graph().settings(), [&](const Weight &w) {
      const auto made = made_.find(w.name);
      if (made == made_.end()) {
        const Weight &same = *m_.weight(w.name);
        return same.block ? clone(same.value) : same.value;  // that one may be trained further
      }
      if (made->second.shape.elements() != w.spec.shape.elements())
        fail(Code::internal, "weight \"", w.name, "\": made as ", made->second.shape, ", expected ", w.spec.shape);
      return Tensor{made->second.dtype, w.spec.shape, made->second.data};
    });
  }

 private:
  void rewrite(Architecture &a, const std::string &prefix) {
    for (Architecture::Layer &l : a.layers) {
      if (l.role != Architecture::Role::kind) continue;
      names_.push_back(l.name);
      const std::string below = prefix + l.name + '/';
      if (l.class_name == "Functional" && l.config.contains("model")) {
        Architecture inner = read_architecture(l.config["model"]);
        rewrite(inner, below);
        l.config["model"] = to_json(inner);
        if (wanted_.count(l.name)) refuse(l.name, "a model inside is quantized by the names of its layers");
        continue;
      }
      const bool asked = wanted_.count(l.name) != 0;
      if (asked) found_.insert(l.name);
      if (how_.layers && !asked) continue;
      if (!can_be(l.class_name)) {
        if (asked) refuse(l.name, text("a ", l.class_name, " cannot be quantized"));
        continue;
      }
      if (is_table(l.class_name) && q_.turned()) continue;
      if (const Json *now = l.config.find("quantization"); now && !now->is_null())
        refuse(l.name, text("it is quantized already, by ", now->at("mode").dump()));
      l.config["quantization"] = json_;
      as_layer(l.name, [&] { make(l, below); });
    }
  }

  void make(const Architecture::Layer &l, const std::string &below) {
    const auto value = [&](const std::string &name) { return m_.weight(below + name)->value; };
    Made made;
    if (in_heads(l.class_name)) {
      for (const char *part : {"query", "key", "value", "gate", "attention_output"}) {
        const std::string inside = text(part, '/');
        if (!has(below + inside + "kernel")) continue;
        const Tensor t = value(inside + "kernel");
        const int in = part == std::string_view("attention_output") ? 2 : 1;
        std::vector<int> summed(static_cast<size_t>(in)), others(static_cast<size_t>(t.shape.rank() - in));
        std::iota(summed.begin(), summed.end(), 0);
        std::iota(others.begin(), others.end(), in);
        quantizer_.kernel(t, summed, others, "kernel", made);
        add(below + inside, made);
      }
      return;
    }
    if (is_table(l.class_name)) {
      quantizer_.table(value("embeddings"), made);
      if (has(below + "reverse_embeddings")) quantizer_.back(value("reverse_embeddings"), made);
    } else {
      std::vector<int> summed{0}, others{1};
      if (l.class_name == "EinsumDense") {
        summed.clear(), others.clear();
        axes_of(l.config.at("equation").get<std::string>(), summed, others);
      }
      quantizer_.kernel(value("kernel"), summed, others, "kernel", made);
    }
    add(below, made);
  }
  bool has(const std::string &name) const {
    const auto &all = m_.weights();
    return std::any_of(all.begin(), all.end(), [&](const auto &w) { return w->name == name; });
  }
  void add(const std::string &below, Made &made) {
    for (auto &[name, t] : made) made_[below + name] = std::move(t);
    made.clear();
  }

  const Model &m_;
  const Quantize &how_;
  const Quantizer quantizer_;
  const Json json_;
  const Quantization q_;
  std::set<std::string> wanted_, found_;
  std::vector<std::string> names_;
  Made made_;
};

}  // namespace

std::shared_ptr<Model> quantized(const Model &m, const Quantize &how) {
  const auto q = kinds::from_json<kinds::Quantized>(how.mode);
  if (!q) throw Error(Code::invalid_argument, "\"mode\": expected a mode, got null").with("attribute", "mode");
  if (q->turned())
    throw Error(Code::unsupported, text(q->name(), " needs data to calibrate by; expected \"int8\" or \"int4/block\""))
        .with("attribute", "mode");
  return Rewriting(m, how, *q, kinds::conversion<kinds::Quantized>().write(&q)).run();
}

}  // namespace dl4::graph
