// Short words for nets as objects: layers, runs, and streams in any cut.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/float_mode.hpp"
#include "graph/lower.hpp"
#include "runtime/runner.hpp"

namespace dl4::graph {

struct Net {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>(Settings{3, SeedScheme::dl4});
  Node input(const char *name, const Shape &shape, DType dtype = DType::f32) {
    return graph->input(name, dtype, shape);
  }
  Node add(const std::string &kind, const char *name, Json attributes, const std::vector<Node> &in,
           Arguments arguments = {}) {
    return graph->add(kind, name, std::move(attributes), std::move(arguments), in)[0];
  }
  Node add(const std::string &kind, const std::string &config, const std::vector<Node> &in,
           const std::string &call = "{}") {
    return add(kind, "", Json::parse(config), in, {Json::parse(call), {}});
  }
  Model model(std::vector<Node> in, std::vector<Node> out) const { return {graph, std::move(in), std::move(out)}; }
};

inline std::vector<float> floats(const Tensor &t) { return {t.as<float>(), t.as<float>() + t.elements()}; }
inline std::vector<std::vector<float>> floats(const std::vector<Tensor> &tensors) {
  std::vector<std::vector<float>> all;
  for (const Tensor &t : tensors) all.push_back(floats(t));
  return all;
}

template <class T = float>
Tensor tensor(const Shape &shape, const std::vector<T> &values, DType dtype = DType::f32) {
  Tensor t = make_tensor(dtype, shape);
  std::copy(values.begin(), values.end(), t.as<T>());
  return t;
}

// Numbers from -1 to 1.
inline Tensor random_tensor(const Shape &shape, uint32_t seed) {
  std::mt19937 draw(seed);
  Tensor t = make_tensor(DType::f32, shape);
  for (float &v : std::span(t.as<float>(), static_cast<size_t>(t.elements())))
    v = static_cast<float>(static_cast<double>(draw()) / 2147483648.0 - 1);
  return t;
}

inline std::vector<runtime::View> views(const std::vector<Tensor> &tensors) {
  std::vector<runtime::View> all;
  for (const Tensor &t : tensors) all.push_back({t.dtype, t.shape, t.data.get(), nullptr});
  return all;
}

inline runtime::Options options(int threads = 1) {
  runtime::Options o;
  o.plan.check = true;
  o.plan.cutting.threads = threads;
  o.crew = std::make_shared<Crew>(threads, kernels::stay_single_threaded);
  return o;
}

// What anything gives for these inputs that says the shapes of its outputs.
template <class Runs>
std::vector<Tensor> run_of(Runs &what, const std::vector<Tensor> &in) {
  std::vector<Tensor> out;
  for (const ops::Operand &o : what.outputs(views(in))) out.push_back(make_tensor(o.dtype, o.shape));
  FlushToZero flush;
  what.run(views(in), views(out));
  return out;
}

// A session and its runs.
class Runs {
 public:
  explicit Runs(const Model &m, const InferenceOptions &how = {}) {
    Pinned p = pinned(m, how, {});
    runtime::Options o = options();
    o.constant_states = p.in.written.empty();
    o.run_counter = p.run_counter;
    executable_.emplace(std::move(p.in.program), std::move(p.states), std::make_shared<plan::Packs>(), o);
  }
  std::vector<Tensor> operator()(const std::vector<Tensor> &in) { return run_of(*executable_, in); }

 private:
  std::optional<runtime::Executable> executable_;
};
inline std::vector<Tensor> run(const Model &m, const std::vector<Tensor> &in, const InferenceOptions &how = {}) {
  return Runs(m, how)(in);
}

// Gradients of the outputs times random cotangents, by inputs and weights, against differences of every third element.
inline void expect_differences(const Model &m, const std::vector<Tensor> &in, const std::vector<std::string> &by) {
  const InferenceOptions how{.gradients = by, .cotangents = true};
  std::vector<Tensor> given = in, cotangents;
  for (const Tensor &y : run(m, in))
    if (cotangents.emplace_back(y); y.dtype == DType::f32)
      given.push_back(cotangents.back() = random_tensor(y.shape, static_cast<uint32_t>(given.size())));
  const auto value = [&] {
    double sum = 0;
    const std::vector<Tensor> y = run(m, in);
    for (size_t j = 0; j < y.size(); ++j)
      for (int64_t i = 0; y[j].dtype == DType::f32 && i < y[j].elements(); ++i)
        sum += static_cast<double>(y[j].as<float>()[i]) * static_cast<double>(cotangents[j].as<float>()[i]);
    return sum;
  };
  const std::vector<Tensor> got = run(m, given, how);
  for (size_t k = 0; k < by.size(); ++k) {
    const Tensor &slopes = got[got.size() - by.size() + k];
    size_t i = 0;
    while (i < m.inputs().size() && m.input_name(i) != by[k]) ++i;
    const Tensor &moved = i < in.size() ? in[i] : m.weight(by[k])->value();
    for (int64_t at = 0; at < moved.elements(); at += 3) {
      constexpr float step = 1e-2f;
      float &x = moved.as<float>()[at];
      const float before = x;
      x = before + step;
      const double up = value();
      x = before - step;
      EXPECT_NEAR(slopes.as<float>()[at], (up - value()) / (2 * step), 3e-3) << by[k] << ' ' << at;
      x = before;
    }
  }
}

// The message of the refusal of f(), with its code.
template <class F>
std::string refused(Code code, F f) {
  try {
    f();
  } catch (const Error &e) {
    EXPECT_EQ(e.code, code) << e.what();
    return e.what();
  }
  return "";
}

// ---- streams -------------------------------------------------------------------------------------------------------

struct LayerOf {
  const char *kind;
  std::string config;
};
// The layers, one behind the other.
inline Model chain(const std::vector<LayerOf> &layers, const Shape &shape, DType dtype = DType::f32) {
  Net net;
  const Node x = net.input("x", shape, dtype);
  Node y = x;
  for (const LayerOf &l : layers) y = net.add(l.kind, l.config, {y});
  return net.model({x}, {y});
}

// Refuses as a session with "streamable" does.
inline runtime::Ticks streamed(const Model &m, plan::Cache cache = {}, runtime::Options how = options()) {
  Pinned p = pinned(m, {.states = true, .cache = cache}, how.plan.passes_off);
  if (!p.tick) throw Error(Code::unsupported, p.why_no_tick);
  how.constant_states = true;
  return runtime::ticks_of(std::move(*p.tick), p.states, std::move(how));
}

// Steps [from, to) of [B, T, ...].
inline Tensor part(const Tensor &whole, int64_t from, int64_t to) {
  Tensor t = make_tensor(whole.dtype, whole.shape.with(1, to - from));
  const int64_t batch = whole.shape[0], all = whole.shape[1], step = whole.bytes() / batch / all;
  for (int64_t b = 0; b < batch; ++b)
    std::memcpy(t.data.get() + b * (to - from) * step, whole.data.get() + (b * all + from) * step,
                static_cast<size_t>((to - from) * step));
  return t;
}

// What the stream gives for x, and what is the same at all steps, in these cuts: all steps of a sequence, or the last.
inline std::vector<float> in_cuts(runtime::Stream &s, const runtime::Ticks &ticks, const Tensor &x,
                                  const std::vector<int64_t> &cuts, const std::vector<Tensor> &beside = {}) {
  std::vector<std::vector<float>> rows(static_cast<size_t>(x.shape[0]));
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::vector<Tensor> in{part(x, cuts[i], cuts[i + 1])};
    in.insert(in.end(), beside.begin(), beside.end());
    const std::vector<float> v = floats(run_of(s, in)[0]);
    const auto each = static_cast<ptrdiff_t>(v.size() / rows.size());
    for (size_t b = 0; b < rows.size(); ++b) {
      if (!ticks.how->outputs[0].is_sequence) rows[b].clear();
      const auto from = v.begin() + static_cast<ptrdiff_t>(b) * each;
      rows[b].insert(rows[b].end(), from, from + each);
    }
  }
  std::vector<float> all;
  for (const auto &r : rows) all.insert(all.end(), r.begin(), r.end());
  return all;
}
inline std::vector<float> in_cuts(const runtime::Ticks &ticks, const Tensor &x, const std::vector<int64_t> &cuts,
                                  const std::vector<Tensor> &beside = {}) {
  runtime::Stream fresh(ticks, x.shape[0]);
  return in_cuts(fresh, ticks, x, cuts, beside);
}

inline std::vector<int64_t> cuts_of(int64_t n, int64_t each) {
  std::vector<int64_t> cuts{0};
  while (cuts.back() < n) cuts.push_back(std::min(n, cuts.back() + each));
  return cuts;
}

inline void expect_close(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 2e-5 * std::max(1.0f, std::abs(b[i]))) << "value " << i << " of " << a.size();
}

// How expect_streams() looks. `missing`: of the steps that a run gives the last ones, which depend on where the
// sequence ends; none: not looked at.
struct Looks {
  std::optional<int64_t> missing = 0;
  int64_t cache = 0;
  std::vector<int64_t> lengths{1, 7, 160};
  int64_t least = 40;
};

// In any cut the same bits, also by a stream that takes over another's states, and within rounding the first of what a
// run gives for the whole sequence [B, T, `tail`].
inline void expect_streams(const Model &m, const std::vector<int64_t> &tail, const Looks &how = {}) {
  const runtime::Ticks ticks = streamed(m, {how.cache});
  const plan::Tick &tick = *ticks.how;
  const int64_t n = (how.least + tick.steps - 1) / tick.steps * tick.steps;
  for (int64_t batch : {1, 3}) {
    SCOPED_TRACE(batch);
    std::vector<int64_t> dims{batch, n};
    dims.insert(dims.end(), tail.begin(), tail.end());
    const Tensor x = random_tensor(Shape(dims), 7);
    const std::vector<float> whole = in_cuts(ticks, x, {0, n});
    Tensor expected = run(m, {x})[0];
    if (tick.outputs[0].is_sequence) {
      const int64_t steps = tick.given(0, n);
      ASSERT_LE(steps, expected.shape[1]);
      if (how.missing) {
        EXPECT_EQ(steps, expected.shape[1] - *how.missing);
      }
      expected = part(expected, 0, steps);
    }
    ASSERT_NO_FATAL_FAILURE(expect_close(whole, floats(expected)));
    for (int64_t length : how.lengths) ASSERT_EQ(in_cuts(ticks, x, cuts_of(n, length)), whole) << length;
    runtime::Stream first(ticks, batch), next(ticks, batch);
    in_cuts(first, ticks, x, {0, n / 2 + 1});
    next.own();
    const auto from = first.saved(), to = next.states();
    for (size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i].second.memory(), to[i].second.memory().begin());
    EXPECT_EQ(in_cuts(next, ticks, x, {n / 2 + 1, n}), in_cuts(first, ticks, x, {n / 2 + 1, n}));
    first.reset();
    EXPECT_EQ(in_cuts(first, ticks, x, {0, 5, n}), whole);
  }
}

}  // namespace dl4::graph
