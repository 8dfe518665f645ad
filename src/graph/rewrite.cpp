
#include "graph/rewrite.hpp"

#include <cmath>
#include <numeric>
#include <set>

namespace dl4::graph {
namespace {

using kinds::Quantization;

// A kernel as a matrix, with scales by column.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  // row-major
};
struct Whole {
  std::vector<int> values, zeros;  // zeros and scales: by group of rows, all columns each
  std::vector<float> scales;
};

// As keras.quantizers.abs_max_quantize, in float32.
Whole by_column(const Matrix &m, const WholeNumbers::Range &range) {
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

// As keras.quantizers.abs_max_quantize_grouped_with_zero_point; the last block is padded with zeros.
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

// Calls f for the indices of a tensor of that shape, in order.
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

// Position of each number of a kernel in a matrix with the axes `summed` as rows and the others as columns.
std::vector<int64_t> places(const Shape &s, const KernelAxes &axes) {
  int64_t columns = 1;
  for (int a : axes.others) columns *= s[a];
  std::vector<int64_t> list(static_cast<size_t>(s.elements()));
  each_place(s, [&](int64_t i, const std::vector<int64_t> &at) {
    int64_t row = 0, column = 0;
    for (int a : axes.summed) row = row * s[a] + at[static_cast<size_t>(a)];
    for (int a : axes.others) column = column * s[a] + at[static_cast<size_t>(a)];
    list[static_cast<size_t>(i)] = row * columns + column;
  });
  return list;
}

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
// Packs a matrix of 4-bit numbers, two of a row per byte.
Tensor nibbles(int64_t rows, int64_t columns, const std::function<int(int64_t, int64_t)> &f) {
  const int64_t half = (columns + 1) / 2;
  return bytes({rows, half}, [&](int64_t i) {
    const int64_t r = i / half, c = i % half * 2;
    const int low = f(r, c), high = c + 1 < columns ? f(r, c + 1) : 0;
    return (low & 15) | (high & 15) << 4;
  });
}

Tensor all(const std::vector<float> &list) {
  return floats({static_cast<int64_t>(list.size())}, [&](int64_t i) { return list[static_cast<size_t>(i)]; });
}

Whole whole_of(const Quantization &q, const WholeNumbers::Range &range, const Matrix &m) {
  return q.grouped() ? by_block(m, q.block) : by_column(m, range);
}

int int8_at(const Tensor &t, int64_t i) { return static_cast<int8_t>(t.as<uint8_t>()[i]); }
// The number at a column of a row with two per byte.
int nibble_at(const Tensor &t, int64_t row, int64_t columns, int64_t column) {
  const int byte = t.as<uint8_t>()[row * ((columns + 1) / 2) + column / 2];
  return ((column % 2 ? byte >> 4 : byte & 15) ^ 8) - 8;
}

}  // namespace

KernelAxes first_axes(int summed, int rank) {
  KernelAxes axes;
  for (int i = 0; i < rank; ++i) (i < summed ? axes.summed : axes.others).push_back(i);
  return axes;
}

KernelAxes axes_of(const std::string &equation) {
  KernelAxes axes;
  const size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string kernel = equation.substr(comma + 1, arrow - comma - 1), y = equation.substr(arrow + 2);
  for (size_t i = 0; i < kernel.size(); ++i)
    if (y.find(kernel[i]) == std::string::npos) axes.summed.push_back(static_cast<int>(i));
  for (char l : y)
    if (const size_t at = kernel.find(l); at != std::string::npos) axes.others.push_back(static_cast<int>(at));
  return axes;
}

WholeNumbers::Range WholeNumbers::default_range(const Quantization &q) {
  return q.mode == Quantization::Mode::int8 ? Range{-127, 127} : Range{-8, 7};
}

void WholeNumbers::kernel(const Tensor &t, const KernelAxes &axes, WholeWeights &made) const {
  const bool int8 = q_.mode == Quantization::Mode::int8;
  // With 4 bits Keras takes the kernel as a matrix in storage order.
  std::vector<int64_t> at = places(t.shape, axes);
  if (!int8) std::iota(at.begin(), at.end(), 0);
  Matrix m{1, 1, std::vector<float>(at.size())};
  for (int a : axes.summed) m.rows *= t.shape[a];
  for (int a : axes.others) m.columns *= t.shape[a];
  for (size_t i = 0; i < at.size(); ++i) m.values[static_cast<size_t>(at[i])] = t.as<float>()[i];
  const Whole w = whole_of(q_, range_, m);
  if (int8)
    made["kernel"] =
        bytes(t.shape, [&](int64_t i) { return w.values[static_cast<size_t>(at[static_cast<size_t>(i)])]; });
  else
    made["kernel"] = nibbles(m.rows, m.columns,
                             [&](int64_t r, int64_t c) { return w.values[static_cast<size_t>(r * m.columns + c)]; });
  made["kernel_scale"] = all(w.scales);
  if (!q_.grouped()) return;
  const Shape groups{q_.groups(m.rows), m.columns};
  made["kernel_zero"] = bytes(groups, [&](int64_t i) { return w.zeros[static_cast<size_t>(i)]; });
  made["g_idx"] = floats({m.rows}, [&](int64_t i) { return static_cast<double>(i / q_.block); });
}

void WholeNumbers::table(const Tensor &t, WholeWeights &made) const {
  const int64_t ids = t.shape[0], size = t.shape[1];
  Matrix m{size, ids, std::vector<float>(static_cast<size_t>(t.elements()))};
  for (int64_t i = 0; i < t.elements(); ++i)
    m.values[static_cast<size_t>(i % size * ids + i / size)] = t.as<float>()[i];
  const Whole w = whole_of(q_, range_, m);
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

void WholeNumbers::back(const Tensor &t, WholeWeights &made) const {
  const int64_t size = t.shape[0], ids = t.shape[1];
  const Matrix m{size, ids, {t.as<float>(), t.as<float>() + t.elements()}};
  const Whole w = whole_of(q_, range_, m);
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

Tensor WholeNumbers::kernel_floats(const Shape &shape, const KernelAxes &axes, const FindWeight &weight) const {
  const Tensor bytes = weight("kernel"), scale = weight("kernel_scale");
  const std::vector<int64_t> at = places(shape, axes);
  int64_t columns = 1;
  for (int a : axes.others) columns *= shape[a];
  if (q_.mode == Quantization::Mode::int8)
    return floats(shape, [&](int64_t i) {
      return static_cast<float>(int8_at(bytes, i)) / scale.as<float>()[at[static_cast<size_t>(i)] % columns];
    });
  const Tensor zero = q_.grouped() ? weight("kernel_zero") : Tensor(), groups = q_.grouped() ? weight("g_idx") : zero;
  return floats(shape, [&](int64_t i) {
    const int64_t row = i / columns, column = i % columns;
    const auto whole = static_cast<float>(nibble_at(bytes, row, columns, column));
    if (!q_.grouped()) return whole / scale.as<float>()[column];
    const int64_t of = static_cast<int64_t>(groups.as<float>()[row]) * columns + column;
    return (whole - static_cast<float>(int8_at(zero, of))) * scale.as<float>()[of];
  });
}

Tensor WholeNumbers::table_floats(const Shape &shape, const FindWeight &weight) const {
  const Tensor bytes = weight("embeddings"), scale = weight("embeddings_scale");
  const Tensor zero = q_.grouped() ? weight("embeddings_zero") : Tensor(),
               groups = q_.grouped() ? weight("g_idx") : zero;
  const int64_t size = shape[1];
  return floats(shape, [&](int64_t i) {
    const int64_t id = i / size, place = i % size;
    const auto whole = static_cast<float>(q_.bits == 4 ? nibble_at(bytes, id, size, place) : int8_at(bytes, i));
    if (!q_.grouped()) return whole / scale.as<float>()[id];
    const int64_t of = id * q_.groups(size) + static_cast<int64_t>(groups.as<float>()[place]);
    return (whole - static_cast<float>(int8_at(zero, of))) * scale.as<float>()[of];
  });
}

namespace {

using kinds::Lora;

[[noreturn]] void refuse(const std::string &layer, const std::string &why) {
  throw Error(Code::unsupported, text("layer \"", layer, "\": ", why)).with("layer", layer);
}

WholeNumbers::Range range_of(const Quantization &q, const Quantize &how) {
  WholeNumbers::Range range = WholeNumbers::default_range(q);
  range.epsilon = static_cast<float>(how.epsilon);
  if (!how.value_range) return range;
  const auto &given = *how.value_range;
  const double limit = q.mode == Quantization::Mode::int8 ? 127 : 7;
  const auto is_whole = [](double v) { return v == std::round(v); };
  if (given.size() != 2 || !is_whole(given[0]) || !is_whole(given[1]) || given[0] < -limit - 1 || given[0] > 0 ||
      given[1] < 1 || given[1] > limit)
    kinds::refuse_attribute("value_range", "expected two whole numbers from ", -limit - 1, " to ", limit,
                            " around 0, got ", Json(given).dump());
  range.least = static_cast<float>(given[0]), range.most = static_cast<float>(given[1]);
  return range;
}

// Of the kernel of a layer, or of the projection `part` of one with several.
KernelAxes axes_for(const Json &config, std::string_view part, int rank) {
  if (const Json *equation = config.find("equation")) return axes_of(equation->get<std::string>());
  return first_axes(part == "attention_output" ? 2 : 1, rank);
}

class Rewriting {
 public:
  explicit Rewriting(const Model &m) : m_(m) {}

 protected:
  using Layer = Architecture::Layer;

  // Calls f(layer, its prefix, whether it is a model) for all layers, the ones inside models first.
  template <class F>
  void walk(Architecture &a, const std::string &prefix, F f) {
    for (Layer &l : a.layers) {
      if (l.role != Architecture::Role::kind) continue;
      const std::string below = prefix + l.name + '/';
      const bool model = l.class_name == "Functional" && l.config.contains("model");
      if (model) {
        Architecture inner = read_architecture(l.config["model"]);
        walk(inner, below, f);
        l.config["model"] = to_json(inner);
      }
      f(l, below, model);
    }
  }
  bool has(const std::string &name) const {
    return std::ranges::any_of(m_.weights(), [&](const auto &w) { return w->name == name; });
  }
  void add(const std::string &below, WholeWeights made) {
    for (auto &[name, t] : made) made_[below + name] = std::move(t);
  }
  // The model of that architecture, with what was made in place of its own weights.
  std::shared_ptr<Model> remade(const Architecture &a) const {
    return model_of(a, m_.graph().settings(), [&](const Weight &w) {
      const auto made = made_.find(w.name);
      if (made == made_.end()) {
        const Weight &same = *m_.weight(w.name);
        return same.block() ? clone(same.value()) : same.value();  // a copy, so that one of them may be trained
      }
      if (made->second.shape.elements() != w.spec.shape.elements())
        fail(Code::internal, "weight \"", w.name, "\": made as ", made->second.shape, ", expected ", w.spec.shape);
      return Tensor{made->second.dtype, w.spec.shape, made->second.data};
    });
  }

  const Model &m_;
  WholeWeights made_{};
};

class Quantizing : Rewriting {
 public:
  Quantizing(const Model &m, const Quantize &how, const Quantization &q, const Json &as_json)
      : Rewriting(m), how_(how), quantizer_(q, range_of(q, how)), json_(as_json) {
    if (how.layers) wanted_.insert(how.layers->begin(), how.layers->end());
  }

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    walk(a, "", [&](Layer &l, const std::string &below, bool model) { rewrite(l, below, model); });
    for (const std::string &name : wanted_)
      if (!found_.count(name))
        throw Error(Code::not_found, text("the model has no layer \"", name, '"'))
            .with("layer", name)
            .suggest(name, names_);
    return remade(a);
  }

 private:
  void rewrite(Layer &l, const std::string &below, bool model) {
    names_.push_back(l.name);
    const bool asked = wanted_.count(l.name) != 0;
    if (model) {
      if (asked) refuse(l.name, "a model inside is quantized by the names of its layers");
      return;
    }
    if (asked) found_.insert(l.name);
    if (how_.layers && !asked) return;
    const Json *now = l.config.find("quantization");
    if (!now) {
      if (asked) refuse(l.name, text("a ", l.class_name, " cannot be quantized"));
      return;
    }
    if (!now->is_null()) refuse(l.name, text("it is quantized already, by ", now->at("mode").dump()));
    l.config["quantization"] = json_;
    as_layer(l.name, [&] { make(l, below); });
  }

  void make(const Layer &l, const std::string &below) {
    const auto value = [&](const std::string &name) { return m_.weight(below + name)->value(); };
    const auto kernel = [&](const std::string &inside, std::string_view part) {
      if (!has(below + inside + "kernel")) return;
      const Tensor t = value(inside + "kernel");
      WholeWeights made;
      quantizer_.kernel(t, axes_for(l.config, part, t.shape.rank()), made);
      add(below + inside, std::move(made));
    };
    if (has(below + "embeddings")) {
      WholeWeights made;
      quantizer_.table(value("embeddings"), made);
      if (has(below + "reverse_embeddings")) quantizer_.back(value("reverse_embeddings"), made);
      add(below, std::move(made));
    } else {
      kernel("", "");
    }
    for (const char *part : {"query", "key", "value", "gate", "attention_output"}) kernel(text(part, '/'), part);
  }

  const Quantize &how_;
  const WholeNumbers quantizer_;
  const Json json_;
  std::set<std::string> wanted_, found_;
  std::vector<std::string> names_;
};

// Adds products of LoRA to kernels and tables.
class Merging : Rewriting {
 public:
  using Rewriting::Rewriting;

  std::shared_ptr<Model> run() {
    Architecture a = m_.architecture();
    walk(a, "", [&](Layer &l, const std::string &below, bool model) {
      std::erase_if(l.frozen, [&](const std::string &name) {
        const auto w = m_.weight(below + name);
        return w && w->spec.lora;
      });
      if (!model) layer(l.config, below);
    });
    return remade(a);
  }

 private:
  // Merges a layer's LoRA and those of its inner layers.
  void layer(Json &config, const std::string &below) {
    std::vector<std::string> inner;
    for (const auto &[key, value] : config.items())
      if (const Json *of = value.find("config"); of && value.contains("class_name") && of->contains("name"))
        inner.emplace_back(key);
    for (const std::string &key : inner) {
      Json of = config[key]["config"];
      const std::string name = of.at("name").get<std::string>();
      layer(of, below + name + '/');
      config[key]["config"] = std::move(of);
    }
    if (const Json *rank = config.find("lora_rank"); rank && !rank->is_null()) {
      Lora l;
      l.rank = rank->get<int64_t>();
      if (const Json *alpha = config.find("lora_alpha"); alpha && !alpha->is_null()) l.alpha = alpha->get<double>();
      merge("", config, below, l);
      for (const char *key : {"lora_rank", "lora_alpha"}) config[key] = nullptr;
    }
    if (const Json *lora = config.find("lora"); lora && !lora->is_null()) {
      for (const auto &[name, l] : kinds::from_json<kinds::LoraByName>(*lora))
        merge(name, config, below + name + '/', l);
      config["lora"] = nullptr;
    }
  }

  // of: the name of the projection; "" for the layer's own kernel or table.
  void merge(const std::string &of, const Json &config, const std::string &below, const Lora &lora) {
    const bool table = has(below + "lora_embeddings_a");
    const std::string name = table ? "embeddings" : "kernel";
    const auto weight = [&](const std::string &key) { return m_.weight(below + key)->value(); };
    const Tensor a = weight(text("lora_", name, "_a")), b = weight(text("lora_", name, "_b"));
    const Shape shape = a.shape.with(-1, b.shape.last());
    const Json *said = config.find("quantization");
    const auto q = said ? kinds::from_json<kinds::Quantized>(*said) : kinds::Quantized();
    if (!q) {
      made_[below + name] = sum(weight(name), a, b, lora);
      return;
    }
    const WholeNumbers numbers(*q);
    WholeWeights made;
    if (table) {
      numbers.table(sum(numbers.table_floats(shape, weight), a, b, lora), made);
    } else {
      const KernelAxes axes = axes_for(config, of, shape.rank());
      numbers.kernel(sum(numbers.kernel_floats(shape, axes, weight), a, b, lora), axes, made);
    }
    add(below, std::move(made));
  }

  static Tensor sum(const Tensor &kernel, const Tensor &a, const Tensor &b, const Lora &lora) {
    Tensor y = clone(kernel);
    const int64_t rank = b.shape[0], columns = b.shape[1];
    const auto scale = static_cast<float>(lora.scale());
    for (int64_t i = 0; i < y.elements(); ++i) {
      float product = 0;
      for (int64_t k = 0; k < rank; ++k)
        product += a.as<float>()[i / columns * rank + k] * b.as<float>()[k * columns + i % columns];
      y.as<float>()[i] += scale * product;
    }
    return y;
  }
};

}  // namespace

std::shared_ptr<Model> quantized(const Model &m, const Quantize &how) {
  // A layer's "int4" means that of files before Keras 3.15; quantize("int4") has a default block.
  Json mode = how.mode;
  Json &word = mode.is_object() && mode.contains("mode") ? mode["mode"] : mode;
  if (word == Json("int4")) word = "int4/128";
  const auto q = kinds::from_json<kinds::Quantized>(mode);
  if (!q) kinds::refuse_attribute("mode", "expected a mode, got null");
  if (q->turned())
    throw Error(Code::unsupported, text(q->name(), " needs data to calibrate by; expected \"int8\" or \"int4/block\""))
        .with("attribute", "mode");
  return Quantizing(m, how, *q, kinds::conversion<kinds::Quantized>().write(&q)).run();
}

std::shared_ptr<Model> without_lora(const Model &m) { return Merging(m).run(); }

}  // namespace dl4::graph
