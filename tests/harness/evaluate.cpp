// Programs run step by step, with guarded buffers.
#include "harness/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/dispatch/choose.hpp"
#include "backend/cpu/kernels/simd/simd.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"
#include "base/rng.hpp"
#include "plan/loop.hpp"
#include "plan/passes.hpp"
#include "plan/placement.hpp"

#include "hwy/targets.h"

namespace dl4::test {
namespace {

constexpr int64_t guard = 64;
constexpr unsigned char guard_byte = 0xA5;

// Memory between two guards.
struct Buffer {
  explicit Buffer(int64_t bytes) : bytes(bytes), memory(allocate(bytes + 2 * guard)) {
    std::memset(memory.get(), guard_byte, static_cast<size_t>(bytes + 2 * guard));
    std::memset(data(), 0xFF, static_cast<size_t>(bytes));
  }
  std::byte *data() const { return memory.get() + guard; }
  bool intact() const {
    for (int64_t i = 0; i < guard; ++i)
      if (memory.get()[i] != std::byte{guard_byte} || data()[bytes + i] != std::byte{guard_byte}) return false;
    return true;
  }
  int64_t bytes;
  Bytes memory;
};

// One evaluation: where each value lies.
class Evaluation {
 public:
  Evaluation(const Program &p, How how) : p_(p), how_(how), at_(p, nullptr), tied_(p) {}

  Result run(const std::vector<Tensor> &inputs, const std::vector<Tensor> &states) {
    EXPECT_EQ(inputs.size(), p_.inputs.size());
    EXPECT_EQ(states.size(), p_.states.size());
    for (size_t i = 0; i < inputs.size(); ++i) bring(p_.inputs[i], inputs[i]);
    for (size_t i = 0; i < states.size(); ++i) bring(p_.states[i], states[i]);
    for (Id v : p_.ids())
      if (p_[v].role == ops::Role::constant) bring(v, Tensor(p_[v].data));
    left_ = ops::uses(p_);
    drop_unread();
    for (const ops::Step &s : p_.steps) step(s);
    for (const auto &[v, t] : brought_)
      EXPECT_EQ(0, std::memcmp(at_[v], t.data.get(), static_cast<size_t>(t.bytes()))) << "an input was changed";
    Result r{{}, {}, report_.fault, report_.value};
    for (Id v : p_.outputs) r.outputs.push_back(take(v));
    for (const ops::Write &w : p_.writes) r.written.push_back(take(w.value));
    return r;
  }

 private:
  ops::Value &value(Id v) { return p_[v]; }
  int64_t bytes(Id v) { return value(v).shape.elements() * size_of(value(v).dtype); }

  void bring(Id v, const Tensor &t) {
    EXPECT_TRUE(compatible(value(v).shape, t.shape)) << to_string(t.shape);
    EXPECT_EQ(value(v).dtype, t.dtype);
    value(v).shape = t.shape;
    at_[v] = reserve(t.bytes());
    if (t.bytes()) std::memcpy(at_[v], t.data.get(), static_cast<size_t>(t.bytes()));
    brought_.emplace_back(v, t);
  }

  std::byte *reserve(int64_t n) {
    buffers_.emplace_back(n);
    return buffers_.back().data();
  }

  Tensor take(Id v) {
    Tensor t = make_tensor(value(v).dtype, value(v).shape);
    if (t.bytes()) std::memcpy(t.data.get(), at_[v], static_cast<size_t>(t.bytes()));
    return t;
  }

  bool is_read(Id v) const { return left_[v] > 0; }

  void drop_unread() {
    for (size_t n = p_.steps.size(); n-- > 0;) {
      const ops::Step &s = p_.steps[n];
      if (s.op->is_volatile() || std::any_of(s.dst.begin(), s.dst.end(), [&](Id v) { return is_read(v); })) continue;
      for (Id v : s.src)
        if (v != ops::none) --left_[v];
      p_.steps.erase(p_.steps.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }

  // May dst take the memory of v, whose last reader this step is?
  bool free_to_take(Id v, Id dst) {
    return how_.in_place && v != ops::none && value(v).role == ops::Role::temp && !tied_[v] && left_[v] == 1 &&
           plan::fits_over(value(v), value(dst));
  }

  void step(const ops::Step &s) {
    dispatch::Site site = dispatch::site(p_, s);
    site.dst = s.op->infer(site.src);
    site.cutting = {.threads = how_.threads, .strict = how_.strict, .portable = how_.portable, .least = how_.least};
    site.off = how_.off;
    site.packs = &packs_;
    std::vector<void *> args;
    for (size_t i = 0; i < s.src.size(); ++i) {
      // What is not read must not be touched: it gets no memory.
      bool read = s.src[i] != ops::none && s.op->reads(static_cast<int>(i));
      args.push_back(read ? at_[s.src[i]] : nullptr);
      for (int k : how_.constants) {
        if (s.src[i] != p_.inputs.at(static_cast<size_t>(k))) continue;
        site.constant[i] = &brought_[static_cast<size_t>(k)].second;
        site.constant_key[i] = text("input ", k);
      }
    }
    for (size_t i = 0; i < s.dst.size(); ++i) {
      Id v = s.dst[i];
      EXPECT_TRUE(site.dst[i].shape.known());
      EXPECT_TRUE(compatible(value(v).shape, site.dst[i].shape)) << s.op->name();
      value(v).shape = site.dst[i].shape;
      site.dst[i].present = is_read(v);
      int over = s.op->overwrites(static_cast<int>(i));
      Id from = over < 0 ? ops::none : s.src[static_cast<size_t>(over)];
      if (s.op->is_view()) {
        at_[v] = at_[s.src[0]] + s.op->view_offset();
        tied_[v] = tied_[s.src[0]] = true;
      } else if (is_read(v)) {
        at_[v] = free_to_take(from, v) ? at_[from] : reserve(bytes(v));
      }
      args.push_back(at_[v]);
    }
    run(s, site, args);
    for (Id v : s.src)
      if (v != ops::none) --left_[v];
  }

  void run(const ops::Step &s, const dispatch::Site &site, const std::vector<void *> &args) {
    plan::Options options;
    options.check = true;
    auto kernel = plan::make_kernel(s, site, options);
    Buffer scratch(kernel->scratch);
    auto bound = kernel->bind();
    report_.most_steps = how_.most_steps;
    report_.cancel = how_.cancel;
    for (int again = 0; again < (how_.in_place || s.op->is_view() ? 1 : 2); ++again) {  // a frame is used many times
      for (int64_t phase = 0; phase < kernel->phases; ++phase)
        for (int64_t i = 0; i < kernel->slices; ++i)
          kernel->run(phase * kernel->slices + (how_.reversed ? kernel->slices - 1 - i : i),
                      {args.data(), static_cast<int>(s.src.size()), scratch.data(), bound.get(), &report_});
    }
    EXPECT_TRUE(scratch.intact()) << s.op->name() << " wrote outside its scratch";
    for (const Buffer &b : buffers_) EXPECT_TRUE(b.intact()) << s.op->name() << " wrote outside a buffer";
  }

  Program p_;
  How how_;
  ops::PerValue<std::byte *> at_;
  ops::PerValue<bool> tied_;  // shares its memory with another value
  ops::PerValue<int32_t> left_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<Id, Tensor>> brought_;
  kernels::Report report_;
  plan::Packs packs_;
};

// The Program of c, perhaps with free axes, or with `copied` inputs: all but its constants.
Program emit(const Case &c, bool open, const How *copied = nullptr) {
  auto is_in = [](const std::vector<int> &list, size_t i) {
    return std::find(list.begin(), list.end(), static_cast<int>(i)) != list.end();
  };
  Program p;
  Emit e(p);
  std::vector<Id> x;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Shape s = c.inputs[i].shape;
    for (int axis : c.free_axes)
      if (open && axis < s.rank() && !is_in(c.constants, i)) s = s.with(axis, free_dim);
    x.push_back(e.input(text("x", i), c.inputs[i].dtype, s));
  }
  for (size_t i = 0; i < x.size(); ++i)
    if (copied && !is_in(copied->constants, i)) x[i] = copy(e, x[i]);
  for (Id v : c.build(e, x)) e.output(v);
  ops::verify(p);
  return p;
}

double element(const Tensor &t, int64_t i) {
  switch (t.dtype) {
    case DType::f32:
      return t.as<float>()[i];
    case DType::f64:
      return t.as<double>()[i];
    case DType::i32:
      return t.as<int32_t>()[i];
    case DType::i64:
      return static_cast<double>(t.as<int64_t>()[i]);
    default:
      return t.as<uint8_t>()[i];
  }
}

}  // namespace

void expect_same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b, const std::string &where) {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape, b[i].shape) << where;
    EXPECT_EQ(0, std::memcmp(a[i].data.get(), b[i].data.get(), static_cast<size_t>(a[i].bytes()))) << where;
  }
}

Tensor random(const Shape &shape, uint64_t seed, double low, double high, DType dtype) {
  PhiloxWords words({seed, 7});
  return naive(dtype, shape, [&](const auto &) {
    double u = low + (high - low) * (words.next() / 4294967296.0);
    return dtype == DType::f32 ? u : dtype == DType::boolean ? double(words.next() & 1) : std::floor(u);
  });
}

Tensor naive(DType dtype, const Shape &shape, const std::function<double(const std::vector<int64_t> &)> &f) {
  Tensor t = make_tensor(dtype, shape);
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0, n = t.elements(); i < n; ++i) {
    double v = f(index);
    switch (dtype) {
      case DType::f32:
        t.as<float>()[i] = static_cast<float>(v);
        break;
      case DType::f64:
        t.as<double>()[i] = v;
        break;
      case DType::i32:
        t.as<int32_t>()[i] = static_cast<int32_t>(v);
        break;
      case DType::i64:
        t.as<int64_t>()[i] = static_cast<int64_t>(v);
        break;
      case DType::u8:
      case DType::boolean:
        t.as<uint8_t>()[i] = static_cast<uint8_t>(v);
        break;
      case DType::string:
        fail(Code::unsupported, "naive: numbers, not strings");
    }
    for (int a = shape.rank(); a-- > 0;) {
      if (++index[static_cast<size_t>(a)] < shape[a]) break;
      index[static_cast<size_t>(a)] = 0;
    }
  }
  return t;
}

std::vector<Tensor> randoms(const std::vector<Shape> &shapes) {
  std::vector<Tensor> t;
  for (const Shape &s : shapes) t.push_back(random(s, 1 + t.size(), -1, 1));
  return t;
}

std::vector<Array> arrays(const std::vector<Tensor> &tensors) {
  std::vector<Array> a;
  for (const Tensor &t : tensors) a.push_back({t.shape, values(t)});
  return a;
}

Tensor to_tensor(DType dtype, const Array &a) {
  return naive(dtype, a.shape, [&, i = size_t{0}](const auto &) mutable { return a.v[i++]; });
}

std::vector<double> values(const Tensor &t) {
  std::vector<double> v;
  for (int64_t i = 0, n = t.elements(); i < n; ++i) v.push_back(element(t, i));
  return v;
}

double at(const Tensor &t, const std::vector<int64_t> &index) {
  int64_t i = 0;
  for (int a = 0; a < t.shape.rank(); ++a) i = i * t.shape[a] + index[static_cast<size_t>(a)];
  return element(t, i);
}

void expect_close(const Tensor &got, const Tensor &expected, double tolerance, const std::string &where) {
  ASSERT_EQ(to_string(got.shape), to_string(expected.shape)) << where;
  ASSERT_EQ(got.dtype, expected.dtype) << where;
  auto a = values(got), b = values(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
    bool close = std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]));
    ASSERT_TRUE(close) << where << ": element " << i << " is " << a[i] << ", expected " << b[i];
  }
}

std::string to_string(const How &how) {
  std::string s =
      text(how.threads, " threads", how.strict ? ", strict" : "", how.constants.empty() ? "" : ", constants");
  for (const auto &kernel : how.off) s += (&kernel == &how.off[0] ? ", without " : " ") + kernel;
  return s;
}

Result evaluate(const Program &p, const std::vector<Tensor> &inputs, const std::vector<Tensor> &states, How how) {
  kernels::SingleThreaded one;
  return Evaluation(p, std::move(how)).run(inputs, states);
}

Program program_of(const Build &build, const std::vector<Tensor> &inputs) { return emit({build, inputs}, false); }

std::vector<How> ways(const Case &c) {
  std::vector<How> all;
  std::vector<std::vector<std::string>> offs{{}};
  for (const auto &forced : c.kernels) {
    offs.push_back(c.kernels);
    std::erase(offs.back(), forced);
  }
  std::vector<std::vector<int>> constants{{}};
  if (!c.constants.empty()) constants.push_back(c.constants);
  for (const auto &off : offs)
    for (const auto &constant : constants)
      for (bool strict : {false, true})
        for (int threads : {1, 2, 3, 7})
          all.push_back({.threads = threads, .strict = strict, .constants = constant, .off = off});
  return all;
}

// The same NaN, whose sign and payload are the processor's affair.
void unify_nan(std::vector<Tensor> &tensors) {
  for (Tensor &t : tensors)
    if (t.dtype == DType::f32)
      for (int64_t i = 0; i < t.elements(); ++i)
        if (std::isnan(t.as<float>()[i])) t.as<float>()[i] = std::numeric_limits<float>::quiet_NaN();
}

// Our own kernels compute the same bits with every instruction set that fuses multiplication and addition.
void expect_same_on_every_target(const Program &p, const Case &c, How how) {
  for (const std::string &kernel : dispatch::unportable_kernels()) how.off.push_back(kernel);
  how.portable = true;
  std::vector<Tensor> first;
  std::string best;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS & (HWY_AVX3 | HWY_AVX2); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::vector<Tensor> outputs = evaluate(p, c.inputs, {}, how).outputs;
    unify_nan(outputs);
    const std::string target = hwy::TargetName(left & -left);
    if (first.empty()) first = outputs, best = target;
    expect_same_bits(outputs, first, text(to_string(how), ", ", target, " against ", best));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<Tensor> run_all_ways(const Case &c, const std::vector<Tensor> &expected) {
  Program known = emit(c, false), open = emit(c, true);
  SCOPED_TRACE(to_string(known));
  std::vector<Tensor> first, on_one[2];  // on_one: thread; then strict
  for (const How &how : ways(c)) {
    std::string where = to_string(how);
    auto run = [&](const Program &p, bool reversed, bool in_place) {
      How h = how;
      h.reversed = reversed;
      h.in_place = in_place;
      Result r = evaluate(p, c.inputs, {}, h);
      EXPECT_EQ(r.fault, kernels::Fault::none) << where;
      return r.outputs;
    };
    auto close = [&](const std::vector<Tensor> &a, const std::vector<Tensor> &b, double tolerance, const char *what) {
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) expect_close(a[i], b[i], tolerance, text("output ", i, ", ", where, what));
    };
    auto outputs = run(known, false, false);
    if (how.threads == 1) on_one[how.strict] = outputs;
    if (first.empty()) first = outputs;
    if (!expected.empty()) close(outputs, expected, c.tolerance, "");
    close(outputs, on_one[false], c.spread, ", against one thread");
    if (how.strict) expect_same_bits(outputs, on_one[true], where + ", against one thread");
    if (how.strict && how.threads == 1) expect_same_on_every_target(known, c, how);
    auto opened = run(open, false, false);
    close(opened, outputs, c.spread, ", free axes");
    expect_same_bits(run(known, true, false), outputs, where + ", slices reversed");
    for (bool reversed : {false, true})
      expect_same_bits(run(emit(c, false, &how), reversed, true), outputs,
                       where + (reversed ? ", reversed" : "") + ", in place");
    expect_same_bits(run(emit(c, true, &how), true, true), opened, where + ", free axes, in place");
    if (testing::Test::HasFailure()) break;
  }
  return first;
}

void check_fused(const Case &c, std::initializer_list<ops::Unary> functions) {
  for (ops::Unary f : functions) {
    auto followed = [f](Program p) {
      Emit e(p);
      p.outputs = {unary(e, f, p.outputs[0], {0.3f})};
      return p;
    };
    const Program apart = followed(program_of(c.build, c.inputs));
    Program fused = apart;
    plan::fuse_epilogues(fused);
    ASSERT_EQ(fused.steps.size(), apart.steps.size() - 1);
    EXPECT_FALSE(equal(*fused.steps.back().op, *apart.steps[apart.steps.size() - 2].op));
    Program again = followed(fused);
    plan::fuse_epilogues(again);
    EXPECT_EQ(again.steps.size(), fused.steps.size() + 1) << "two functions in one step";
    for (How how : ways(c)) {
      for (bool in_place : {false, true}) {
        how.reversed = how.in_place = in_place;
        expect_same_bits(evaluate(fused, c.inputs, {}, how).outputs, evaluate(apart, c.inputs, {}, how).outputs,
                         to_string(how));
      }
    }
  }
}

void check_refused(const Build1 &build, const std::vector<ops::Operand> &inputs, Code code, const std::string &words) {
  Program p;
  Emit e(p);
  std::vector<Id> x;
  for (const auto &i : inputs) x.push_back(e.input(text("x", x.size()), i.dtype, i.shape));
  try {
    build(e, x);
    FAIL() << "not refused: " << to_string(p);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message << "\n  does not say: " << words;
  }
}

}  // namespace dl4::test
