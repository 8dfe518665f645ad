// LSTM over whole sequences: input products, then the steps.
#include "backend/cpu/dispatch/lstm.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Bound;
using kernels::Kernel;
using kernels::Run;

using Sizes = LstmSizes;

// How a slice multiplies its sequences by the kernel, adding the bias. If gates are kept for a gradient, in pieces of
// rows between which a run can be cancelled; else in pieces of steps whose gates stay in cache until they are used.
struct Products {
  int64_t steps = 0;                         // per piece; rows if gates are kept
  std::shared_ptr<const Kernel> whole, end;  // for a whole and for the last piece
};

// R in the layout of our own loop, if constant.
struct Recurrent {
  std::shared_ptr<const kernels::Packed> panels;
  std::array<std::shared_ptr<const kernels::NarrowWeights>, 4> narrow;  // or narrow, by gate

  explicit operator bool() const { return panels || narrow[0]; }
  // Name of a kernel that uses it.
  std::string name(const char *kernel) const {
    if (!narrow[0]) return kernel;
    return text(kernel, ", ", kernels::weight_type_names[static_cast<size_t>(narrow[0]->type)]);
  }
  bool is_integer() const { return narrow[0] && narrow[0]->is_integer(); }
  // packed: R as packed by this run, if not constant.
  void give(kernels::LstmForward &f, const float *packed) const noexcept {
    f.recurrent = panels ? static_cast<const kernels::PackedFloats &>(*panels).floats() : packed;
    for (size_t g = 0; g < narrow.size(); ++g) f.narrow[g] = narrow[g].get();
  }
};

// Scratch offsets of a run of our own loop, in floats, and its products.
struct Layout {
  Sizes s;
  kernels::LstmLoop loop;
  int64_t slices = 0;
  bool bias = false, keeps = false;  // keeps: the gates are an output
  std::vector<Products> products;    // per slice
  Recurrent recurrent;
  int64_t each = 0;  // per slice: packed R, loop, source, gates, product
  int64_t loop_at = 0, src_at = 0, gates_at = 0, product_at = 0;
};

// rows: sequences per slice.
Recurrent recurrent_of(const Site &site, int64_t rows, int64_t units, bool by_gate) {
  auto r = site.constant_source(src_recurrent_kernel);
  if (!r) return {};
  const int64_t all = checked_mul(4, units);
  const kernels::WeightType type = narrowed(site.weights, rows, all, units, machine(site.cutting));
  if (r->forms && type != kernels::WeightType::float32) {
    Recurrent by;
    for (size_t g = 0; g < by.narrow.size(); ++g)
      by.narrow[g] =
          kernels::narrow_weights(*r, type, units, units, all, false, checked_mul(static_cast<int64_t>(g), units));
    return by;
  }
  if (!by_gate) return {kernels::packed_panels(*r, units, all, all), {}};
  return {r->packed("lstm panels by gate",
                    [&] {
                      const int64_t floats = kernels::packed_gates_floats(units);
                      auto panels = std::make_shared<const kernels::PackedFloats>(floats);
                      kernels::pack_gates(units, {0, units}, r->data, panels->floats());
                      return panels;
                    }),
          {}};
}

// The loop's arguments, except x_gates and recurrent.
kernels::LstmForward arguments(const Run &r) noexcept {
  kernels::LstmForward f;
  f.h0 = r.in<float>(src_h0);
  f.c0 = r.in<float>(src_c0);
  f.mask = r.in<uint8_t>(src_mask);
  f.y = r.out<float>(lstm_dst::y);
  f.h_last = r.out<float>(lstm_dst::h);
  f.c_last = r.out<float>(lstm_dst::c);
  f.gates = r.out<float>(lstm_dst::gates);
  f.c = r.out<float>(lstm_dst::cells);
  f.h_prev = r.out<float>(lstm_dst::h_before);
  f.report = r.report;
  return f;
}

// gates = x kernel + bias: slice i of the product.
void multiply(const Kernel &product, int64_t i, Bound *bound, const Run &r, bool bias, const float *x, float *gates,
              float *scratch) noexcept {
  void *args[4] = {const_cast<float *>(x), r.args[src_kernel], bias ? r.args[src_bias] : gates, gates};
  product.run(i, {args, bias ? 3 : 2, scratch, bound, r.report});
}

// Whether the input product of so many rows uses tiles.
bool by_tiles(const Site &site, const Sizes &s, int64_t rows) {
  return tile_products(site, "amx_gemm", rows, checked_mul(4, s.units), s.inputs) > 0;
}

// Steps of a batch multiplied at once: few enough that the gates stay in cache, and enough for tiles if all steps
// together would use them.
int64_t steps_at_once(const Site &site, const Sizes &s, int64_t batch) {
  constexpr int64_t rows = 64, most_rows = 4096;  // enough for the smallest product that uses tiles
  int64_t steps = std::min(std::max<int64_t>(1, rows / batch), s.time);
  while (steps < s.time && batch * steps < most_rows && by_tiles(site, s, checked_mul(batch, s.time)) &&
         !by_tiles(site, s, batch * steps))
    ++steps;
  return steps;
}

// Rows of inputs multiplied between checks for cancellation.
int64_t inputs_at_once(const Sizes &s, int64_t rows) {
  constexpr double longest = 2e4;  // microseconds
  const double us = lstm_microseconds(rows, 1, s.inputs, s.units);
  const auto pieces = static_cast<int64_t>(us / longest) + 1;
  return (rows + pieces - 1) / pieces;
}

Layout lay_out(const Site &site, const Sizes &s, bool backwards, int64_t slices) {
  Layout l;
  l.s = s;
  l.recurrent = recurrent_of(site, (s.batch + slices - 1) / slices, s.units, false);
  l.loop = {s.time, s.units, backwards, l.recurrent.is_integer()};
  l.slices = slices;
  l.bias = site.src[src_bias].present;
  l.keeps = site.dst[lstm_dst::gates].present;
  auto weights = site.constant_source(src_kernel);
  std::map<int64_t, std::shared_ptr<const Kernel>> by_rows;
  int64_t most = 0, most_rows = 0, product_bytes = 0;
  auto product_of = [&](int64_t rows) {
    auto &p = by_rows[rows];
    if (!p) {
      kernels::Gemm g;
      g.m = rows;
      g.n = checked_mul(4, s.units);
      g.k = s.inputs;
      g.bias = l.bias;
      p = product(site, g, 1, weights ? &*weights : nullptr);
    }
    product_bytes = std::max(product_bytes, p->scratch);
    return p;
  };
  for (int64_t i = 0; i < slices; ++i) {
    auto [begin, end] = kernels::part(s.batch, slices, i);
    int64_t batch = end - begin;
    Products p;
    const int64_t all = l.keeps ? checked_mul(batch, s.time) : s.time, each = l.keeps ? 1 : batch;
    p.steps = l.keeps ? inputs_at_once(s, all) : steps_at_once(site, s, batch);
    p.whole = product_of(checked_mul(each, p.steps));
    p.end = product_of(checked_mul(each, p.steps ? all % p.steps : 0));
    most = std::max(most, batch);
    most_rows = std::max(most_rows, checked_mul(batch, p.steps));
    l.products.push_back(std::move(p));
  }
  int64_t floats = l.recurrent ? 0 : kernels::packed_floats(s.units, checked_mul(4, s.units));
  auto place = [&](int64_t &at, int64_t n) {
    at = round_up(floats, 16);
    floats = checked_add(at, n);
  };
  place(l.loop_at, kernels::lstm_forward_scratch(l.loop, most));
  place(l.src_at, l.keeps || most == 1 ? 0 : checked_mul(most_rows, s.inputs));
  place(l.gates_at, l.keeps ? 0 : checked_mul(most_rows, 4, s.units));
  place(l.product_at, (product_bytes + 3) / 4);
  l.each = round_up(floats, 16);
  return l;
}

// Each slice computes its sequences, from the input product to the last step.
class OwnLstm final : public Kernel {
 public:
  explicit OwnLstm(Layout layout)
      : Kernel(layout.recurrent.name("own_lstm"), layout.slices, checked_mul(layout.slices, layout.each, 4)),
        l_(std::move(layout)) {}

  std::unique_ptr<Bound> bind() const override {
    auto b = std::make_unique<BoundProducts>();
    for (const auto &p : l_.products) b->parts.push_back({p.whole->bind(), p.end->bind()});
    return b;
  }

  void run(int64_t slice, const Run &r) const noexcept override {
    auto [begin, end] = kernels::part(l_.s.batch, l_.slices, slice);
    const auto at = static_cast<size_t>(slice);
    const Products &products = l_.products[at];
    const auto &bound = static_cast<const BoundProducts *>(r.bound)->parts[at];
    float *mine = static_cast<float *>(r.scratch) + slice * l_.each;
    if (!l_.recurrent)
      kernels::pack_b(l_.s.units, 4 * l_.s.units, r.in<float>(src_recurrent_kernel), 4 * l_.s.units, false, mine);
    const int64_t time = l_.s.time, inputs = l_.s.inputs, batch = end - begin;
    const float *x = r.in<float>(src_x) + begin * time * inputs;
    kernels::LstmForward f = arguments(r);
    l_.recurrent.give(f, mine);
    auto fill = [&](const Kernel &product, Bound *b, const float *from, float *gates) {
      if (product.slices) multiply(product, 0, b, r, l_.bias, from, gates, mine + l_.product_at);
    };
    for (int64_t row = 0, rows = l_.keeps ? batch * time : 0; row < rows; row += products.steps) {
      if (r.report->ends()) return;
      const bool whole = row + products.steps <= rows;
      fill(whole ? *products.whole : *products.end, (whole ? bound.first : bound.second).get(), x + row * inputs,
           f.gates + (begin * time + row) * 4 * l_.s.units);
    }
    if (l_.keeps) f.x_gates = f.gates;
    if (l_.keeps || time == 0) return kernels::lstm_forward(l_.loop, f, begin, end, mine + l_.loop_at);

    float *gates = mine + l_.gates_at, *src = mine + l_.src_at;
    for (int64_t first = 0, last; first < time; first = last) {
      if (r.report->ends()) return;
      last = std::min(first + products.steps, time);
      const bool whole = last - first == products.steps;
      const int64_t t = l_.loop.backwards ? time - last : first;  // the earliest of these steps
      const float *from = x + t * inputs;
      if (batch > 1) {
        for (int64_t s = 0; s < last - first; ++s)
          for (int64_t b = 0; b < batch; ++b)
            std::copy_n(x + (b * time + t + s) * inputs, inputs, src + (s * batch + b) * inputs);
        from = src;
      }
      if (whole)
        fill(*products.whole, bound.first.get(), from, gates);
      else
        fill(*products.end, bound.second.get(), from, gates);
      kernels::lstm_forward(l_.loop, f, {first, last, gates}, begin, end, mine + l_.loop_at);
    }
  }

 private:
  struct BoundProducts final : Bound {
    std::vector<std::pair<std::unique_ptr<Bound>, std::unique_ptr<Bound>>> parts;
  };

  Layout l_;
};

// For few sequences: phases for pieces of the input product, then one per step, in which each slice computes some of
// the units.
class OwnLstmByUnits final : public Kernel {
 public:
  static std::unique_ptr<Kernel> make(const Site &site, const Sizes &s, bool backwards, int64_t slices) {
    Inputs in;
    in.rows = checked_mul(s.batch, s.time);
    in.each = inputs_at_once(s, in.rows);
    in.bias = site.src[src_bias].present;
    auto weights = site.constant_source(src_kernel);
    const auto product_of = [&](int64_t rows) -> std::shared_ptr<const Kernel> {
      kernels::Gemm g;
      g.m = rows;
      g.n = checked_mul(4, s.units);
      g.k = s.inputs;
      g.bias = in.bias;
      return product(site, g, slices, weights ? &*weights : nullptr);
    };
    in.whole = product_of(in.each);
    in.end = in.rows % in.each ? product_of(in.rows % in.each) : in.whole;
    Places at;
    at.loop = round_up((std::max(in.whole->scratch, in.end->scratch) + 3) / 4, 16);
    Recurrent recurrent = recurrent_of(site, s.batch, s.units, true);
    kernels::LstmLoop loop{s.time, s.units, backwards, recurrent.is_integer()};
    at.gates = checked_add(at.loop, round_up(kernels::lstm_forward_scratch_by_units(loop, s.batch), 16));
    const bool keeps = site.dst[lstm_dst::gates].present;
    at.recurrent = checked_add(at.gates, keeps ? 0 : round_up(checked_mul(in.rows, 4, s.units), 16));
    at.end = checked_add(at.recurrent, recurrent ? 0 : kernels::packed_gates_floats(s.units));
    in.size = s.inputs;
    return std::unique_ptr<Kernel>(new OwnLstmByUnits(loop, s.batch, slices, in, std::move(recurrent), at));
  }

  std::unique_ptr<Bound> bind() const override {
    auto b = std::make_unique<BoundInputs>();
    b->whole = in_.whole->bind();
    b->end = in_.end->bind();
    return b;
  }

  void run(int64_t i, const Run &r) const noexcept override {
    const int64_t step = i / slices - in_.pieces(), slice = i % slices;
    auto [begin, end] = kernels::part(loop_.hidden, slices, slice, kernels::lstm_unit_block);
    float *scratch = static_cast<float *>(r.scratch), *packed = scratch + at_.recurrent;
    kernels::LstmForward f = arguments(r);
    recurrent_.give(f, packed);
    float *gates = f.gates ? f.gates : scratch + at_.gates;
    f.x_gates = gates;
    if (step < 0) {
      const int64_t row = (step + in_.pieces()) * in_.each;
      const bool whole = row + in_.each <= in_.rows;
      const auto &bound = *static_cast<const BoundInputs *>(r.bound);
      const Kernel &inputs = whole ? *in_.whole : *in_.end;
      if (slice < inputs.slices)
        multiply(inputs, slice, (whole ? bound.whole : bound.end).get(), r, in_.bias,
                 r.in<float>(src_x) + row * in_.size, gates + row * 4 * loop_.hidden, scratch);
      if (step < -1) return;
      if (!recurrent_) kernels::pack_gates(loop_.hidden, {begin, end}, r.in<float>(src_recurrent_kernel), packed);
    }
    kernels::lstm_forward_by_units(loop_, f, batch_, step, {begin, end}, scratch + at_.loop);
  }

 private:
  struct Places {
    int64_t loop = 0, gates = 0, recurrent = 0, end = 0;  // scratch offsets in floats; the product's is 0
  };

  struct Inputs {
    int64_t rows = 0, each = 0, size = 0;  // of a product: rows in all, per piece; floats per row
    bool bias = false;
    std::shared_ptr<const Kernel> whole, end;  // for a piece and for the last one
    int64_t pieces() const noexcept { return (rows + each - 1) / each; }
  };
  struct BoundInputs final : Bound {
    std::unique_ptr<Bound> whole, end;
  };

  OwnLstmByUnits(kernels::LstmLoop loop, int64_t batch, int64_t slices, Inputs in, Recurrent recurrent, Places at)
      : Kernel(recurrent.name("own_lstm, by units"), slices, checked_mul(at.end, 4), in.pieces() + loop.time),
        loop_(loop),
        batch_(batch),
        in_(std::move(in)),
        recurrent_(std::move(recurrent)),
        at_(at) {}

  kernels::LstmLoop loop_;
  int64_t batch_;
  Inputs in_;
  Recurrent recurrent_;
  Places at_;
};

std::unique_ptr<Kernel> own_lstm(const LstmAt &at) {
  if (at.cut.by_units > 1) return OwnLstmByUnits::make(at.site, at.s, at.backwards, at.cut.by_units);
  return std::make_unique<OwnLstm>(lay_out(at.site, at.s, at.backwards, at.cut.by_sequences));
}

// With tiles the input product takes about half (amx_gemm's cost).
double own_cost(const LstmAt &at) {
  const LstmSizes &s = at.s;
  const bool tiles = by_tiles(at.site, s, checked_mul(s.batch, s.time) / at.cut.by_sequences);
  const double v = vectors_of(4 * s.units, at.machine.vector), steps = real(s.batch, s.time);
  const bool constant = at.site.constant_source(src_recurrent_kernel).has_value();
  return at.machine.microseconds(sum({{1, 172},
                                      {real(s.time), 37},
                                      {steps * real(tiles ? s.inputs / 2 : s.inputs) * v / at.machine.fused, 1.03},
                                      {steps * real(s.units) * v / at.machine.fused, 0.86},
                                      {real(s.time, s.units) * v, 0.82},
                                      {steps * vectors_of(s.units, at.machine.vector), 80},
                                      {steps, 19},
                                      {constant ? 0 : real(s.units) * v, 4.5}}));
}

constexpr Candidate<LstmAt> own_candidates[] = {
    {"own_lstm", always, own_cost, own_lstm},
    {"own_lstm", always, Candidate<LstmAt>::last_resort, own_lstm},
};

std::span<const Candidate<LstmAt>> candidates() {
  static const auto all = with_libraries<LstmAt>(own_candidates, &Library::lstm);
  return all;
}

}  // namespace

std::unique_ptr<Kernel> lstm(const Site &site, bool go_backwards) {
  const Shape &x = site.src[src_x].shape;
  Sizes s{x[0], x[1], x[2], site.src[src_recurrent_kernel].shape[0]};
  if (s.batch == 0 || s.units == 0) return nothing();
  return choose<LstmAt>(
      site, candidates(),
      {site, s, go_backwards, LstmCut(site.cutting, s.batch, s.time, s.inputs, s.units), machine(site.cutting)});
}

std::vector<std::string> lstm_switches() { return switches<LstmAt>(candidates()); }

}  // namespace dl4::dispatch
