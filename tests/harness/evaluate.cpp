// Programs run step by step, with guarded buffers.
#include "harness/evaluate.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include "base/rng.hpp"

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
  Evaluation(const Program &p, How how) : p_(p), how_(how), at_(p.values.size(), nullptr),
      tied_(p.values.size(), false) {}

  Result run(const std::vector<Tensor> &inputs, const std::vector<Tensor> &states) {
    EXPECT_EQ(inputs.size(), p_.inputs.size());
    EXPECT_EQ(states.size(), p_.states.size());
    for (size_t i = 0; i < inputs.size(); ++i) bring(p_.inputs[i], inputs[i]);
    for (size_t i = 0; i < states.size(); ++i) bring(p_.states[i], states[i]);
    for (size_t v = 0; v < p_.values.size(); ++v)
      if (p_.values[v].role == ops::Role::constant) bring(static_cast<Id>(v), Tensor(p_.values[v].data));
    left_ = ops::uses(p_);
    for (const ops::Step &s : p_.steps) step(s);
    for (const auto &[v, t] : brought_)
      EXPECT_EQ(0, std::memcmp(place(v), t.data.get(), static_cast<size_t>(t.bytes()))) << "an input was changed";
    Result r{{}, {}, report_.fault, report_.value};
    for (Id v : p_.outputs) r.outputs.push_back(take(v));
    for (const ops::Write &w : p_.writes) r.written.push_back(take(w.value));
    return r;
  }

 private:
  std::byte *&place(Id v) { return at_[static_cast<size_t>(v)]; }
  ops::Value &value(Id v) { return p_[v]; }
  int64_t bytes(Id v) { return value(v).shape.elements() * size_of(value(v).dtype); }

  void bring(Id v, const Tensor &t) {
    EXPECT_TRUE(compatible(value(v).shape, t.shape)) << to_string(t.shape);
    EXPECT_EQ(value(v).dtype, t.dtype);
    value(v).shape = t.shape;
    place(v) = reserve(t.bytes());
    if (t.bytes()) std::memcpy(place(v), t.data.get(), static_cast<size_t>(t.bytes()));
    brought_.emplace_back(v, t);
  }

  std::byte *reserve(int64_t n) {
    buffers_.emplace_back(n);
    return buffers_.back().data();
  }

  Tensor take(Id v) {
    Tensor t = make_tensor(value(v).dtype, value(v).shape);
    if (t.bytes()) std::memcpy(t.data.get(), place(v), static_cast<size_t>(t.bytes()));
    return t;
  }

  // May a destination of `n` bytes take the memory of v, whose last reader this step is?
  bool free_to_take(Id v, int64_t n) {
    return how_.in_place && v != ops::none && value(v).role == ops::Role::temp && !tied_[static_cast<size_t>(v)] &&
           left_[static_cast<size_t>(v)] == 1 && bytes(v) == n;
  }

  void step(const ops::Step &s) {
    ops::Site site;
    for (Id v : s.src) site.src.push_back(v == ops::none ? ops::absent : ops::Operand{value(v).dtype, value(v).shape});
    site.dst = s.op->infer(site.src);
    site.constant.resize(s.src.size(), nullptr);
    site.constant_key.resize(s.src.size());
    site.cutting = {how_.threads, how_.strict, how_.least};
    std::vector<void *> args;
    for (size_t i = 0; i < s.src.size(); ++i) {
      // What is not read must not be touched: it gets no memory.
      bool read = s.src[i] != ops::none && s.op->reads(static_cast<int>(i));
      args.push_back(read ? place(s.src[i]) : nullptr);
    }
    for (size_t i = 0; i < s.dst.size(); ++i) {
      Id v = s.dst[i];
      EXPECT_TRUE(site.dst[i].shape.known());
      EXPECT_TRUE(compatible(value(v).shape, site.dst[i].shape)) << s.op->name();
      value(v).shape = site.dst[i].shape;
      int over = s.op->overwrites(static_cast<int>(i));
      Id from = over < 0 ? ops::none : s.src[static_cast<size_t>(over)];
      if (s.op->is_view()) {
        place(v) = place(s.src[0]) + s.op->view_offset();
        tied_[static_cast<size_t>(v)] = tied_[static_cast<size_t>(s.src[0])] = true;
      } else {
        place(v) = free_to_take(from, bytes(v)) ? place(from) : reserve(bytes(v));
      }
      args.push_back(place(v));
    }
    run(s, site, args);
    for (Id v : s.src)
      if (v != ops::none) --left_[static_cast<size_t>(v)];
  }

  void run(const ops::Step &s, const ops::Site &site, const std::vector<void *> &args) {
    auto kernel = s.op->kernel(site);
    Buffer scratch(kernel->scratch);
    auto bound = kernel->bind();
    for (int again = 0; again < (how_.in_place || s.op->is_view() ? 1 : 2); ++again) {  // a frame is used many times
      for (int64_t phase = 0; phase < kernel->phases; ++phase)
        for (int64_t i = 0; i < kernel->slices; ++i)
          kernel->run(phase * kernel->slices + (how_.reversed ? kernel->slices - 1 - i : i),
                      {args.data(), scratch.data(), bound.get(), &report_});
    }
    EXPECT_TRUE(scratch.intact()) << s.op->name() << " wrote outside its scratch";
    for (const Buffer &b : buffers_) EXPECT_TRUE(b.intact()) << s.op->name() << " wrote outside a buffer";
  }

  Program p_;
  How how_;
  std::vector<std::byte *> at_;
  std::vector<bool> tied_;  // shares its memory with another value
  std::vector<int32_t> left_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<Id, Tensor>> brought_;
  kernels::Report report_;
};

void expect_same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b, const std::string &where) {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape, b[i].shape) << where;
    EXPECT_EQ(0, std::memcmp(a[i].data.get(), b[i].data.get(), static_cast<size_t>(a[i].bytes()))) << where;
  }
}

}  // namespace

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
      case DType::f32: t.as<float>()[i] = static_cast<float>(v); break;
      case DType::f64: t.as<double>()[i] = v; break;
      case DType::i32: t.as<int32_t>()[i] = static_cast<int32_t>(v); break;
      case DType::i64: t.as<int64_t>()[i] = static_cast<int64_t>(v); break;
      case DType::u8:
      case DType::boolean: t.as<uint8_t>()[i] = static_cast<uint8_t>(v); break;
    }
    for (int a = shape.rank(); a-- > 0;) {
      if (++index[static_cast<size_t>(a)] < shape[a]) break;
      index[static_cast<size_t>(a)] = 0;
    }
  }
  return t;
}

std::vector<double> values(const Tensor &t) {
  std::vector<double> v;
  for (int64_t i = 0, n = t.elements(); i < n; ++i) {
    switch (t.dtype) {
      case DType::f32: v.push_back(t.as<float>()[i]); break;
      case DType::f64: v.push_back(t.as<double>()[i]); break;
      case DType::i32: v.push_back(t.as<int32_t>()[i]); break;
      case DType::i64: v.push_back(static_cast<double>(t.as<int64_t>()[i])); break;
      case DType::u8:
      case DType::boolean: v.push_back(t.as<uint8_t>()[i]); break;
    }
  }
  return v;
}

double at(const Tensor &t, const std::vector<int64_t> &index) {
  int64_t i = 0;
  for (int a = 0; a < t.shape.rank(); ++a) i = i * t.shape[a] + index[static_cast<size_t>(a)];
  switch (t.dtype) {
    case DType::f32: return t.as<float>()[i];
    case DType::f64: return t.as<double>()[i];
    case DType::i32: return t.as<int32_t>()[i];
    case DType::i64: return static_cast<double>(t.as<int64_t>()[i]);
    default: return t.as<uint8_t>()[i];
  }
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

Result evaluate(const Program &p, const std::vector<Tensor> &inputs, const std::vector<Tensor> &states, How how) {
  return Evaluation(p, how).run(inputs, states);
}

Program program_of(const Build &build, const std::vector<Tensor> &inputs, bool open) {
  Program p;
  Emit e(p);
  std::vector<Id> x;
  for (const Tensor &t : inputs) {
    bool opens = open && t.shape.rank() > 0;
    x.push_back(e.input(text("x", x.size()), t.dtype, opens ? t.shape.with(0, free_dim) : t.shape));
  }
  for (Id v : build(e, x)) e.output(v);
  ops::verify(p);
  return p;
}

std::vector<Tensor> run_all_ways(const Build &build, const std::vector<Tensor> &inputs, double spread) {
  Program p = program_of(build, inputs);
  SCOPED_TRACE(to_string(p));
  auto first = evaluate(p, inputs);
  EXPECT_EQ(first.fault, kernels::Fault::none);
  auto strict = evaluate(p, inputs, {}, {.threads = 1, .strict = true}).outputs;
  expect_same_bits(strict, evaluate(p, inputs, {}, {.threads = 7, .strict = true}).outputs, "strict on 7 threads");
  for (How how : {How{.threads = 1}, How{.threads = 2}, How{.threads = 7}, How{.threads = 2, .strict = true}}) {
    std::string where = text(how.strict ? "strict, " : "", how.threads, " threads");
    auto result = evaluate(p, inputs, {}, how).outputs;
    for (size_t i = 0; i < result.size(); ++i) expect_close(result[i], first.outputs[i], spread, where);
    How other = how;
    other.reversed = true;
    expect_same_bits(evaluate(p, inputs, {}, other).outputs, result, where + ", slices reversed");
    other.in_place = true;
    expect_same_bits(evaluate(p, inputs, {}, other).outputs, result, where + ", in place");
  }
  Program open = program_of(build, inputs, true);
  auto opened = evaluate(open, inputs).outputs;
  for (size_t i = 0; i < opened.size(); ++i) expect_close(opened[i], first.outputs[i], spread, "free first axes");
  return first.outputs;
}

void check(const Build &build, const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected, double tolerance,
           double spread) {
  auto outputs = run_all_ways(build, inputs, spread);
  ASSERT_EQ(outputs.size(), expected.size());
  std::string shapes;
  for (const Tensor &t : inputs) shapes += to_string(t.shape) + " ";
  for (size_t i = 0; i < outputs.size(); ++i)
    expect_close(outputs[i], expected[i], tolerance, text("output ", i, " of ", shapes));
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
