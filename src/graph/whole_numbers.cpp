#include "graph/whole_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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

}  // namespace dl4::graph
