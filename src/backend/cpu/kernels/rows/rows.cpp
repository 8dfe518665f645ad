// Joined steps on rows with few channels, by instruction set.
#include "backend/cpu/kernels/rows/rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "base/tensor.hpp"

#ifndef DL4_KERNELS_ROWS
#define DL4_KERNELS_ROWS
namespace dl4::kernels {
// Runs joined codes on one item of a batch.
struct RowRun {
  int64_t rows;
  const RowCode *begin, *end;
  float *values;
  void *const *args;

  template <class T>
  T *arg(int i) const {
    return static_cast<T *>(args[i]);
  }
};
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/rows/rows.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE void copy(const float *from, float *to, int64_t n) {  // a multiple of a vector
  for (int64_t i = 0; i < n; i += lanes) store(load(from + i), to + i);
}

#if HWY_TARGET != HWY_SCALAR
using Four = hn::FixedTag<float, 4>;
using V4 = hn::Vec<Four>;
// Transposes 4 x 4 numbers, given row strides.
HWY_INLINE void turn_four(const float *from, int64_t apart, float *to, int64_t apart_to) {
  const Four d;
  const V4 a = hn::LoadU(d, from), b = hn::LoadU(d, from + apart), c = hn::LoadU(d, from + 2 * apart),
           e = hn::LoadU(d, from + 3 * apart);
  const V4 ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e), ac2 = hn::InterleaveUpper(d, a, c),
           be2 = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac, be), d, to);
  hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to + apart_to);
  hn::StoreU(hn::InterleaveLower(d, ac2, be2), d, to + 2 * apart_to);
  hn::StoreU(hn::InterleaveUpper(d, ac2, be2), d, to + 3 * apart_to);
}
#endif

// Transposes [n, c] to [c, n].
HWY_INLINE void turn(const float *from, int64_t n, int64_t c, float *to) {
  if (c == 1) return copy(from, to, n);
#if HWY_TARGET != HWY_SCALAR
  V x0, x1, x2, x3;
  if (c == 2) {
    for (int64_t i = 0; i < n; i += lanes) {
      hn::LoadInterleaved2(D(), from + 2 * i, x0, x1);
      store(x0, to + i), store(x1, to + n + i);
    }
  } else if (c == 3) {
    for (int64_t i = 0; i < n; i += lanes) {
      hn::LoadInterleaved3(D(), from + 3 * i, x0, x1, x2);
      store(x0, to + i), store(x1, to + n + i), store(x2, to + 2 * n + i);
    }
  } else if (c == 4) {
    for (int64_t i = 0; i < n; i += lanes) {
      hn::LoadInterleaved4(D(), from + 4 * i, x0, x1, x2, x3);
      store(x0, to + i), store(x1, to + n + i), store(x2, to + 2 * n + i), store(x3, to + 3 * n + i);
    }
  } else {
    for (int64_t j = 0; j < c; j += 4) {
      const int64_t at = HWY_MIN(j, c - 4);  // overlaps the four before
      for (int64_t i = 0; i < n; i += 4) turn_four(from + i * c + at, c, to + at * n + i, n);
    }
  }
#else
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j) to[j * n + i] = from[i * c + j];
#endif
}

// Transposes [c, n] to [n, c].
HWY_INLINE void turn_back(const float *from, int64_t n, int64_t c, float *to) {
  if (c == 1) return copy(from, to, n);
#if HWY_TARGET != HWY_SCALAR
  if (c == 2) {
    for (int64_t i = 0; i < n; i += lanes) hn::StoreInterleaved2(load(from + i), load(from + n + i), D(), to + 2 * i);
  } else if (c == 3) {
    for (int64_t i = 0; i < n; i += lanes)
      hn::StoreInterleaved3(load(from + i), load(from + n + i), load(from + 2 * n + i), D(), to + 3 * i);
  } else if (c == 4) {
    for (int64_t i = 0; i < n; i += lanes)
      hn::StoreInterleaved4(load(from + i), load(from + n + i), load(from + 2 * n + i), load(from + 3 * n + i), D(),
                            to + 4 * i);
  } else {
    for (int64_t j = 0; j < c; j += 4) {
      const int64_t at = HWY_MIN(j, c - 4);
      for (int64_t i = 0; i < n; i += 4) turn_four(from + at * n + i, n, to + i * c + at, c);
    }
  }
#else
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j) to[i * c + j] = from[j * n + i];
#endif
}

// Same formulas as the activations.
HWY_INLINE V leaky_relu(V v, float slope) {
  return hn::IfThenElse(hn::Gt(v, hn::Zero(D())), v, hn::Mul(v, set(slope)));
}
HWY_INLINE V relu(V v) { return hn::IfThenElse(hn::Le(v, hn::Zero(D())), hn::Zero(D()), v); }

HWY_INLINE void apply(const Function &f, float *y, int64_t n) {
  if (!f.any) return;
  if (f.f == ops::Unary::leaky_relu)
    for (int64_t i = 0; i < n; i += lanes) store(leaky_relu(load(y + i), f.param[0]), y + i);
  else if (f.f == ops::Unary::relu)
    for (int64_t i = 0; i < n; i += lanes) store(relu(load(y + i)), y + i);
  else
    unary(f.f, f.param, y, y, n);
}

// Addresses of the rows of a product's sources, from row `at`: contiguous, or by pointers.
struct Dense {
  const float *x;
  int64_t n;
  HWY_INLINE Dense(const float *x, int64_t n, int64_t at) : x(x + at), n(n) {}
  HWY_INLINE const float *row(int64_t i) const { return x + i * n; }
};
struct Anywhere {
  const float *const *rows;
  int64_t at;
  HWY_INLINE Anywhere(const float *x, int64_t, int64_t at) : rows(reinterpret_cast<const float *const *>(x)), at(at) {}
  HWY_INLINE const float *row(int64_t i) const { return rows[i] + at; }
};

// O channels from `o` of T vectors of rows from `at`. Same order as packed_gemm with by_row: four sums over every
// fourth source, the remainder into the first, then the bias. Computed one after the other, to need few registers.
template <int O, int T, class Rows>
HWY_INLINE void sums_of(const Rows &x, int64_t k, const float *w, int64_t ldw, V (&total)[O][T]) {
  V sum[O][T];
  const int64_t whole = k / 4 * 4;
  const auto each = [&](auto f) HWY_ATTR {
    DL4_UNROLL
    for (int o = 0; o < O; ++o) DL4_UNROLL
    for (int t = 0; t < T; ++t) f(o, t);
  };
  const auto begin = [&]() HWY_ATTR { each([&](int o, int t) HWY_ATTR { sum[o][t] = hn::Zero(D()); }); };
  const auto add = [&](int64_t i) HWY_ATTR {
    const float *row = x.row(i);
    V v[T];
    DL4_UNROLL
    for (int t = 0; t < T; ++t) v[t] = load(row + t * lanes);
    DL4_UNROLL
    for (int o = 0; o < O; ++o) {
      const V by = set(w[i * ldw + o]);
      DL4_UNROLL
      for (int t = 0; t < T; ++t) sum[o][t] = hn::MulAdd(v[t], by, sum[o][t]);
    }
  };
  begin();
  for (int64_t i = 0; i < whole; i += 4) add(i);
  for (int64_t i = whole; i < k; ++i) add(i);
  each([&](int o, int t) HWY_ATTR { total[o][t] = sum[o][t]; });
  if (whole == 0) each([&](int o, int t) HWY_ATTR { total[o][t] = hn::Add(total[o][t], hn::Zero(D())); });
  for (int u = 1; u < 4 && whole > 0; ++u) {
    begin();
    for (int64_t i = u; i < whole; i += 4) add(i);
    each([&](int o, int t) HWY_ATTR { total[o][t] = hn::Add(total[o][t], sum[o][t]); });
  }
}

template <int O, int T, class Rows>
HWY_NOINLINE void product_block(const RowCode &c, const RowRun &r, int64_t at, int64_t o0) {
  const int64_t n = r.rows;
  const auto each = [&](auto f) HWY_ATTR {
    DL4_UNROLL
    for (int o = 0; o < O; ++o) DL4_UNROLL
    for (int t = 0; t < T; ++t) f(o, t);
  };
  V total[O][T];
  sums_of(Rows(r.values + c.a, n, at), int64_t{c.in} * c.taps, c.weights + o0, c.out, total);
  if (c.arg >= 0) {
    const float *bias = r.arg<const float>(c.arg) + o0;
    each([&](int o, int t) HWY_ATTR { total[o][t] = hn::Add(total[o][t], set(bias[o])); });
  }
  if (c.more) {
    V other[O][T];
    sums_of(Dense(r.values + c.b, n, at), c.more, c.more_weights + o0, c.out, other);
    each([&](int o, int t) HWY_ATTR { total[o][t] = hn::Add(other[o][t], total[o][t]); });
  } else if (c.adds) {
    const float *other = r.values + c.b + o0 * n + at;
    each([&](int o, int t) HWY_ATTR { total[o][t] = hn::Add(total[o][t], load(other + o * n + t * lanes)); });
  }
  if (c.then.any && c.then.f == ops::Unary::leaky_relu)
    each([&](int o, int t) HWY_ATTR { total[o][t] = leaky_relu(total[o][t], c.then.param[0]); });
  else if (c.then.any && c.then.f == ops::Unary::relu)
    each([&](int o, int t) HWY_ATTR { total[o][t] = relu(total[o][t]); });
  const int64_t begin = o0 * n + at;
  float *y = r.values + c.to + begin;
  each([&](int o, int t) HWY_ATTR { store(total[o][t], y + o * n + t * lanes); });
  if (c.sums) {
    const float *from = r.values + c.sum_from + begin;
    float *to = r.values + c.sum_to + begin;
    each([&](int o, int t) HWY_ATTR {
      store(hn::Add(load(from + o * n + t * lanes), total[o][t]), to + o * n + t * lanes);
    });
  }
}

template <int T, class Rows>
HWY_INLINE void product_rows(const RowCode &c, const RowRun &r, int64_t at) {
  for (int64_t o = 0; o < c.out; o += 4) switch (c.out - o) {
      case 1:
        product_block<1, T, Rows>(c, r, at, o);
        break;
      case 2:
        product_block<2, T, Rows>(c, r, at, o);
        break;
      case 3:
        product_block<3, T, Rows>(c, r, at, o);
        break;
      default:
        product_block<4, T, Rows>(c, r, at, o);
    }
}

template <class Rows>
HWY_INLINE void product_of(const RowCode &c, const RowRun &r) {
  constexpr int T = registers >= 32 ? 2 : 1;
  int64_t at = 0;
  for (; at + T * lanes <= r.rows; at += T * lanes) product_rows<T, Rows>(c, r, at);
  for (; at < r.rows; at += lanes) product_rows<1, Rows>(c, r, at);
}

HWY_INLINE void product(const RowCode &c, const RowRun &r) {
  if (c.by_pointers)
    product_of<Anywhere>(c, r);
  else
    product_of<Dense>(c, r);
  if (c.then.any && c.then.f != ops::Unary::leaky_relu && c.then.f != ops::Unary::relu)
    apply(c.then, r.values + c.to, c.out * r.rows);
}

void binary(const RowCode &c, const RowRun &r) {
  const float *a = r.values + c.a, *b = r.values + c.b;
  float *y = r.values + c.to;
  const int64_t n = c.in * r.rows;
  if (c.f == ops::Binary::add)
    for (int64_t i = 0; i < n; i += lanes) store(hn::Add(load(a + i), load(b + i)), y + i);
  else
    binary_run(c.f, DType::f32, a, 1, b, 1, y, n);
  apply(c.then, y, n);
}

// Appends x to the ring and writes pointers to the taps of the window, transposed.
void ring(const RowCode &c, const RowRun &r) {
  const int64_t n = r.rows, in = c.in, mask = c.capacity - 1;
  const int64_t place = *r.arg<const int64_t>(c.tick) * c.each & mask;
  const auto *from = r.arg<const float>(c.from);
  auto *state = r.arg<float>(c.state);
  float *staging = r.values + c.staging;
  const auto put = [&](float *to, const float *source, int64_t rows) {
    if (rows > 0) std::memcpy(to, source, static_cast<size_t>(rows * in) * sizeof(float));
  };
  const int64_t before = HWY_MIN(c.count, -c.first), begin = (place + c.first) & mask;
  const int64_t head = HWY_MIN(before, c.capacity - begin);
  put(staging, from + begin * in, head);
  put(staging + head * in, from, before - head);
  float *x = staging + before * in;
  if (c.arg >= 0)
    put(x, r.arg<const float>(c.arg), n);
  else
    turn_back(r.values + c.a, n, in, x);
  const int64_t whole = round_up(c.count, row_block);
  auto *rows = reinterpret_cast<const float **>(r.values + c.to);
  float *window = r.values + c.to + pointer_floats(in * c.taps);
  turn(staging, whole, in, window);
  for (int64_t k = 0; k < c.taps; ++k, window += c.dilation)
    for (int64_t i = 0; i < in; ++i) *rows++ = window + i * whole;
  if (state != from) put(state, from, c.capacity);
  const int64_t left_out = HWY_MAX(int64_t{0}, n - c.capacity), kept = n - left_out;
  const int64_t to = (place + left_out) & mask, to_end = HWY_MIN(kept, c.capacity - to);
  put(state + to * in, x + left_out * in, to_end);
  put(state, x + (left_out + to_end) * in, kept - to_end);
}

// Appends x to the ring and writes pointers to the taps.
void turned_ring(const RowCode &c, const RowRun &r) {
  const int64_t n = r.rows, in = c.in, capacity = c.capacity, mask = capacity - 1;
  const int64_t place = *r.arg<const int64_t>(c.tick) * c.each & mask;
  const auto *from = r.arg<const float>(c.from);
  auto *state = r.arg<float>(c.state);
  if (state != from) std::memcpy(state, from, static_cast<size_t>(in * capacity) * sizeof(float));
  const float *x = r.values + c.a;
  const int64_t head = HWY_MIN(n, capacity - place);
  for (int64_t i = 0; i < in; ++i) {
    if (head == n) {
      copy(x + i * n, state + i * capacity + place, n);
    } else {
      std::copy_n(x + i * n, head, state + i * capacity + place);
      std::copy_n(x + i * n + head, n - head, state + i * capacity);
    }
  }
  auto *rows = reinterpret_cast<const float **>(r.values + c.to);
  float *room = r.values + c.to + pointer_floats(in * c.taps);
  int64_t at = place + c.first;
  for (int64_t k = 0; k < c.taps; ++k, at += c.dilation, rows += in) {
    const int64_t begin = at & mask, before_end = capacity - begin;
    const float *tap = state + begin;
    if (before_end >= n) {
      for (int64_t i = 0; i < in; ++i) rows[i] = tap + i * capacity;
      continue;
    }
    for (int64_t i = 0; i < in; ++i, room += n) {
      std::copy_n(tap + i * capacity, before_end, room);
      std::copy_n(state + i * capacity, n - before_end, room + before_end);
      rows[i] = room;
    }
  }
}

}  // namespace

void rows_all(const RowRun &r) {
  for (const RowCode *c = r.begin; c != r.end; ++c) switch (c->does) {
      case RowCode::Does::load:
        for (int64_t k = 0; k < c->taps; ++k)
          turn(r.arg<const float>(c->arg) + k * c->dilation * c->in, r.rows, c->in,
               r.values + c->to + k * c->in * r.rows);
        break;
      case RowCode::Does::store:
        turn_back(r.values + c->a, r.rows, c->in, r.arg<float>(c->arg));
        break;
      case RowCode::Does::product:
        product(*c, r);
        break;
      case RowCode::Does::binary:
        binary(*c, r);
        break;
      case RowCode::Does::unary:
        if (c->to != c->a) copy(r.values + c->a, r.values + c->to, c->in * r.rows);
        apply(c->then, r.values + c->to, c->in * r.rows);
        break;
      case RowCode::Does::ring:
        ring(*c, r);
        break;
      case RowCode::Does::turned_ring:
        turned_ring(*c, r);
        break;
    }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(rows_all);

std::shared_ptr<const PackedFloats> row_weights(const PackedFloats &panels, int64_t sources, int64_t out) {
  auto weights = std::make_shared<PackedFloats>(checked_mul(sources, out));
  for (int64_t i = 0; i < sources; ++i)
    std::copy_n(panels.floats() + i * packed_panel, out, weights->floats() + i * out);
  return weights;
}

std::unique_ptr<Kernel> joined_rows(int64_t rows, std::vector<RowCode> codes, int64_t floats,
                                    std::vector<std::shared_ptr<const PackedFloats>> keeps, int64_t items,
                                    std::vector<int64_t> apart) {
  struct Joined final : Kernel {
    Joined(int64_t rows, std::vector<RowCode> codes, int64_t floats, int64_t bytes,
           std::vector<std::shared_ptr<const PackedFloats>> keeps, int64_t items, std::vector<int64_t> apart)
        : Kernel("joined_rows", 1, bytes),
          rows(rows),
          codes(std::move(codes)),
          floats(floats),
          keeps(std::move(keeps)),
          items(items),
          apart(std::move(apart)) {}
    void run(int64_t, const Run &r) const noexcept override {
      auto *values = static_cast<float *>(r.scratch);
      RowRun all{rows, codes.data(), codes.data() + codes.size(), values, r.args};
      HWY_DYNAMIC_DISPATCH(rows_all)(all);
      auto *args = reinterpret_cast<void **>(values + floats);  // of an item
      all.args = args;
      for (int64_t i = 1; i < items; ++i) {
        for (size_t a = 0; a < apart.size(); ++a)
          args[a] = r.args[a] ? static_cast<std::byte *>(r.args[a]) + i * apart[a] : nullptr;
        HWY_DYNAMIC_DISPATCH(rows_all)(all);
      }
    }
    const int64_t rows;
    const std::vector<RowCode> codes;
    const int64_t floats;
    const std::vector<std::shared_ptr<const PackedFloats>> keeps;
    const int64_t items;
    const std::vector<int64_t> apart;
  };
  floats = round_up(floats, 16);
  const int64_t pointers = items > 1 ? checked_mul(std::ssize(apart), static_cast<int64_t>(sizeof(void *))) : 0;
  const int64_t bytes = checked_add(checked_mul(floats, static_cast<int64_t>(sizeof(float))), pointers);
  return std::make_unique<Joined>(rows, std::move(codes), floats, bytes, std::move(keeps), items, std::move(apart));
}

}  // namespace dl4::kernels
#endif
