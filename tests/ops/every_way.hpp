// Checks an op against a reference in double: with each of its kernels in turn, cut in several ways, and its gradient
// against differences of the reference. No planner: one step after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernels/single_threaded.hpp"
#include "ops/emit.hpp"
#include "ops/ops.hpp"

namespace dl4::ops::every_way {

struct Array {
  Shape shape;
  std::vector<double> v;
  double &operator[](int64_t i) { return v[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return v[static_cast<size_t>(i)]; }
};
inline Array zeros(const Shape &s) { return {s, std::vector<double>(static_cast<size_t>(s.elements()))}; }

struct Input {
  Shape shape;
  DType dtype = DType::f32;  // or boolean
  bool constant = false;     // a weight: packed in some of the ways
  bool wants = true;         // its gradient is checked
};

struct Case {
  std::string name;
  std::vector<Input> inputs;
  std::function<std::vector<Id>(Emit &, const std::vector<Id> &)> emit;
  std::function<std::vector<Array>(const std::vector<Array> &)> reference;
  std::vector<std::string> kernels;  // each is forced in turn by switching off the others
  bool gradient = true;
  double tolerance = 2e-5;
  std::vector<int> free_axes = {};  // of every input: declared as free
};

struct Way {
  int threads = 1;
  bool strict = false;
  bool constants = false;
  std::vector<std::string> off;
  bool in_place() const { return threads == 3; }  // destinations take over sources where their ops say they may
};

inline std::string to_string(const Way &w) {
  std::string s = text("threads ", w.threads, w.strict ? " strict" : "", w.constants ? " constants" : "", " without");
  for (const auto &k : w.off) s += ' ' + k;
  return s;
}

inline std::vector<Way> ways(const Case &c) {
  std::vector<std::vector<std::string>> offs{{}};
  for (const auto &forced : c.kernels) {
    offs.emplace_back();
    for (const auto &k : c.kernels)
      if (k != forced) offs.back().push_back(k);
  }
  std::vector<Way> all;
  for (const auto &off : offs)
    for (bool constants : {false, true})
      for (int threads : {1, 2, 3, 7, 0}) all.push_back({threads ? threads : 2, threads == 0, constants, off});
  return all;
}

inline Tensor to_tensor(const Array &a, DType dtype) {
  Tensor t = make_tensor(dtype, a.shape);
  for (size_t i = 0; i < a.v.size(); ++i) {
    if (dtype == DType::f32) t.as<float>()[i] = static_cast<float>(a.v[i]);
    else t.as<uint8_t>()[i] = a.v[i] != 0;
  }
  return t;
}

// Values of all steps; temporaries start as NaN, and so does the scratch.
inline std::map<Id, Tensor> evaluate(const Program &p, std::map<Id, Tensor> values, const std::vector<Id> &constants,
                                     const Way &way) {
  kernels::SingleThreaded one;
  Packs packs;
  for (size_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].role == Role::constant) values[static_cast<Id>(v)] = p.values[v].data;
  auto uses = ops::uses(p);
  std::vector<bool> read(p.values.size(), false);
  for (Id v : p.outputs) read[static_cast<size_t>(v)] = true;
  auto is_read = [&](Id v) { return read[static_cast<size_t>(v)]; };
  for (size_t n = p.steps.size(); n-- > 0;) {
    if (std::none_of(p.steps[n].dst.begin(), p.steps[n].dst.end(), is_read)) continue;
    for (Id v : p.steps[n].src)
      if (v != none) read[static_cast<size_t>(v)] = true;
  }
  for (const Step &s : p.steps) {
    if (std::none_of(s.dst.begin(), s.dst.end(), is_read)) continue;
    Site site;
    site.cutting = {way.threads, way.strict, 1e-6};
    site.off = way.off;
    site.packs = &packs;
    for (Id v : s.src) {
      site.src.push_back(v == none ? absent : Operand{values[v].dtype, values[v].shape});
      bool constant = way.constants && std::find(constants.begin(), constants.end(), v) != constants.end();
      site.constant.push_back(constant ? &values[v] : nullptr);
      site.constant_key.push_back(constant ? text("value ", v) : "");
    }
    site.dst = s.op->infer(site.src);
    if (s.op->is_view()) {
      const Tensor &x = values[s.src[0]];
      values[s.dst[0]] = {x.dtype, site.dst[0].shape, Bytes(x.data, x.data.get() + s.op->view_offset())};
      continue;
    }
    std::vector<void *> args;
    for (Id v : s.src) args.push_back(v == none ? nullptr : values[v].data.get());
    for (size_t i = 0; i < s.dst.size(); ++i) {
      site.dst[i].present = is_read(s.dst[i]);
      Tensor t = make_tensor(site.dst[i].dtype, site.dst[i].shape);
      std::memset(t.data.get(), 0xff, static_cast<size_t>(t.bytes()));
      int over = way.in_place() ? s.op->overwrites(static_cast<int>(i)) : -1;
      if (Id v = over < 0 ? none : s.src[static_cast<size_t>(over)]; v != none)
        if (p[v].role == Role::temp && uses[static_cast<size_t>(v)] == 1 && values[v].data.use_count() == 1 &&
            values[v].bytes() == t.bytes())
          t.data = values[v].data;
      args.push_back(site.dst[i].present ? t.data.get() : nullptr);
      values[s.dst[i]] = t;
    }
    auto kernel = s.op->kernel(site);
    auto bound = kernel->bind();
    Bytes scratch = allocate(kernel->scratch);
    std::memset(scratch.get(), 0xff, static_cast<size_t>(kernel->scratch));
    kernels::Report report;
    kernels::Run run{args.data(), scratch.get(), bound.get(), &report};
    for (int64_t phase = 0; phase < kernel->phases; ++phase)
      for (int64_t i = kernel->slices - 1; i >= 0; --i) kernel->run(phase * kernel->slices + i, run);
    EXPECT_EQ(report.fault.load(), kernels::Fault::none);
  }
  return values;
}

// Gradients of sum(dy * output) by the inputs; none where nothing arrives.
inline std::vector<Id> backward(Emit &e, const std::vector<Id> &in, const std::vector<Id> &out,
                                const std::vector<Id> &dy) {
  std::map<Id, Id> diff;
  std::map<Id, bool> wanted;
  auto collect = [&](Id v, Id d) {
    if (v != none && d != none) diff[v] = diff.count(v) ? add(e, diff[v], d) : d;
  };
  for (Id v : in) wanted[v] = true;
  std::vector<Step> steps = e.program.steps;
  for (const Step &s : steps)
    for (Id v : s.src)
      if (v != none && wanted[v])
        for (Id d : s.dst) wanted[d] = true;
  for (size_t i = 0; i < out.size(); ++i) collect(out[i], dy[i]);
  for (size_t n = steps.size(); n-- > 0;) {
    std::vector<Id> arriving;
    std::vector<bool> wants;
    bool any = false;
    for (Id d : steps[n].dst) {
      arriving.push_back(diff.count(d) ? diff[d] : none);
      any = any || arriving.back() != none;
    }
    if (!any) continue;
    for (Id v : steps[n].src) wants.push_back(v != none && wanted[v]);
    Gradient g(e, steps[n], arriving, wants);
    steps[n].op->gradient(g);
    for (size_t i = 0; i < steps[n].src.size(); ++i)
      if (wants[i]) collect(steps[n].src[i], g.diff_src[i]);
  }
  std::vector<Id> result;
  for (Id v : in) result.push_back(diff.count(v) ? diff[v] : none);
  return result;
}

inline void expect_near(const Tensor &got, const Array &want, double tolerance, const std::string &what) {
  ASSERT_EQ(got.shape, want.shape) << what << to_string(got.shape) << to_string(want.shape);
  double size = 1;
  for (double w : want.v) size = std::isfinite(w) ? std::max(size, std::abs(w)) : size;
  for (size_t i = 0; i < want.v.size(); ++i) {
    double g = static_cast<double>(got.as<float>()[i]);
    if (std::isnan(want.v[i]) ? std::isnan(g) : std::abs(g - want.v[i]) <= tolerance * size || g == want.v[i]) continue;
    FAIL() << what << ": element " << i << " of " << to_string(want.shape) << " is " << g << ", expected " << want.v[i];
  }
}

inline std::vector<Array> draw(const Case &c, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Array> in;
  for (const Input &i : c.inputs) {
    in.push_back(zeros(i.shape));
    for (double &v : in.back().v) v = i.dtype == DType::boolean ? uniform(random) > -0.4f : uniform(random);
  }
  return in;
}

inline std::vector<Id> declare(Emit &e, const Case &c) {
  std::vector<Id> ids;
  for (const Input &i : c.inputs) {
    Shape s = i.shape;
    for (int axis : c.free_axes)
      if (!i.constant && axis < s.rank()) s = s.with(axis, free_dim);
    ids.push_back(e.input(text("in", ids.size()), i.dtype, s));
  }
  return ids;
}

inline void check_forward(const Case &c, const std::vector<Array> &in) {
  Program p;
  Emit e(p);
  auto ids = declare(e, c);
  for (Id v : c.emit(e, ids)) e.output(v);
  auto want = c.reference(in);
  std::map<Id, Tensor> values;
  std::vector<Id> constants;
  for (size_t i = 0; i < ids.size(); ++i) {
    values[ids[i]] = to_tensor(in[i], c.inputs[i].dtype);
    if (c.inputs[i].constant) constants.push_back(ids[i]);
  }
  for (const Way &way : ways(c)) {
    auto got = evaluate(p, values, constants, way);
    for (size_t i = 0; i < want.size(); ++i)
      expect_near(got[p.outputs[i]], want[i], c.tolerance, text(c.name, ", output ", i, ", ", way));
    if (testing::Test::HasFailure()) return;
  }
}

inline void check_gradient(const Case &c, const std::vector<Array> &in) {
  Program p;
  Emit e(p);
  auto ids = declare(e, c);
  auto out = c.emit(e, ids);
  auto base = c.reference(in);
  std::map<Id, Tensor> values;
  std::vector<Id> dy, wanted;
  std::vector<Array> dy_values;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t i = 0; i < out.size(); ++i) {
    dy_values.push_back(zeros(base[i].shape));
    for (double &v : dy_values[i].v) v = uniform(random);
    dy.push_back(e.input(text("dy", i), DType::f32, p[out[i]].shape));
    values[dy[i]] = to_tensor(dy_values[i], DType::f32);
  }
  for (size_t i = 0; i < ids.size(); ++i) values[ids[i]] = to_tensor(in[i], c.inputs[i].dtype);
  std::vector<size_t> which;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!c.inputs[i].wants || c.inputs[i].dtype != DType::f32) continue;
    wanted.push_back(ids[i]);
    which.push_back(i);
  }
  auto diffs = backward(e, wanted, out, dy);
  for (Id d : diffs) {
    ASSERT_NE(d, none) << c.name;
    e.output(d);
  }
  auto loss = [&](const std::vector<Array> &at) {
    auto y = c.reference(at);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      for (size_t j = 0; j < y[i].v.size(); ++j) sum += y[i].v[j] * dy_values[i].v[j];
    return sum;
  };
  std::vector<Array> want;
  for (size_t i : which) {
    want.push_back(zeros(c.inputs[i].shape));
    auto at = in;
    for (size_t j = 0; j < in[i].v.size(); ++j) {
      constexpr double step = 1e-5;
      at[i].v[j] = in[i].v[j] + step;
      double up = loss(at);
      at[i].v[j] = in[i].v[j] - step;
      double down = loss(at);
      at[i].v[j] = in[i].v[j];
      want.back().v[j] = (up - down) / (2 * step);
    }
  }
  for (const Way &way : ways(c)) {
    if (way.constants) continue;
    auto got = evaluate(p, values, {}, way);
    for (size_t i = 0; i < want.size(); ++i)
      expect_near(got[diffs[i]], want[i], 10 * c.tolerance, text(c.name, ", gradient of input ", which[i], ", ", way));
    if (testing::Test::HasFailure()) return;
  }
}

inline void check(const Case &c, uint32_t seed = 1) {
  SCOPED_TRACE(c.name);
  auto in = draw(c, seed);
  check_forward(c, in);
  if (c.gradient && !testing::Test::HasFailure()) check_gradient(c, in);
}

// Emits `f` into a Program and expects a refusal that says `words`.
template <class F>
void expect_refusal(F f, const std::string &words) {
  Program p;
  Emit e(p);
  try {
    f(e);
    FAIL() << "not refused: " << words;
  } catch (const Error &error) {
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  }
}

}  // namespace dl4::ops::every_way
