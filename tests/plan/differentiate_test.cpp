// Gradients of a whole Program: sums of paths, and no op that loses one.
#include "plan/differentiate.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "ops/custom.hpp"
#include "ops/flow.hpp"
#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/scan.hpp"
#include "ops/sizes.hpp"
#include "ops/text.hpp"

namespace dl4::plan::DL4_FILE {
namespace {

using namespace ops;
using Ids = std::vector<Id>;

TEST(Differentiate, AValueUsedTwiceGetsTheSum) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {});
  Id y = mul(e, x, x);
  auto g = differentiate(e, y, std::span(&x, 1));
  ASSERT_EQ(g.size(), 1u);
  EXPECT_NE(g[0], none);
}

TEST(Differentiate, WhatTheLossDoesNotReadHasNone) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {}), other = e.input("other", DType::f32, {});
  Id wrt[] = {x, other};
  auto g = differentiate(e, mul(e, x, x), wrt);
  EXPECT_EQ(g[1], none);
}

// The sum of two values, from outside.
struct Outside final : CustomFunction {
  const std::string &name() const override { return name_; }
  size_t weights() const override { return 0; }
  std::vector<Shape> infer(Operands src) const override { return {src[0].shape}; }
  bool has_backward() const override { return true; }
  std::unique_ptr<Bound> bind_forward(Operands, Operands) const override { return nullptr; }
  std::unique_ptr<Bound> bind_backward(Operands, Operands) const override { return nullptr; }
  int32_t forward(void *const *, Bound &) const noexcept override { return 1; }
  int32_t backward(void *const *, Bound &) const noexcept override { return 1; }

 private:
  const std::string name_ = "outside";
};

// An op whose rule leaves out its source.
struct SilentOp final : OpOf<SilentOp, "silent"> {
  std::vector<Operand> infer(Operands src) const override { return {src[0]}; }
  void gradient(Gradient &) const override {}
};

TEST(Differentiate, RefusesARuleThatLosesAGradient) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {}), other = e.input("other", DType::f32, {});
  Id y = e.value(std::make_shared<SilentOp>(), {x});
  Id loss = add(e, mul(e, y, y), other);
  try {
    differentiate(e, loss, std::span(&x, 1));
    FAIL() << "a gradient was lost";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_NE(error.message.find("silent has no gradient by its source 0"), std::string::npos) << error.message;
  }
  EXPECT_NE(differentiate(e, loss, std::span(&other, 1))[0], none) << "nothing is asked of it here";
}

// What becomes of the gradient by each float32 source of each op: it is given, stops or is refused.
struct Told {
  std::function<Ids(Emit &, const Ids &)> emit;
  std::vector<Operand> in;
  const char *expected;  // for each input that is float32: g, s or r
};

Operand floats(const Shape &s) { return {DType::f32, s}; }
Operand flags(const Shape &s) { return {DType::boolean, s}; }
Ids of(Id v) { return {v}; }

std::vector<Told> every_op() {
  std::vector<Told> all;
  auto told = [&](const char *expected, std::vector<Operand> in, std::function<Ids(Emit &, const Ids &)> emit) {
    all.push_back({std::move(emit), std::move(in), expected});
  };
  const Operand m = floats({4, 3}), image = floats({2, 5, 5, 4});
  for (int i = 0; i < static_cast<int>(Unary::count_); ++i)
    told("g", {m}, [i](Emit &e, const Ids &x) { return of(unary(e, static_cast<Unary>(i), x[0], {0.5f, 1, 0})); });
  for (int i = 0; i < static_cast<int>(Binary::equal); ++i)
    told("gg", {m, floats({3})},
         [i](Emit &e, const Ids &x) { return of(binary(e, static_cast<Binary>(i), x[0], x[1])); });
  // A comparison, and what is counted or masked by it, moves in steps.
  told("ss", {m, m},
       [](Emit &e, const Ids &x) { return of(cast(e, binary(e, Binary::less, x[0], x[1]), DType::f32)); });
  told("sgg", {m, m, m}, [](Emit &e, const Ids &x) {
    Id mask = binary(e, Binary::logical_and, binary(e, Binary::less, x[0], x[0]), causal_mask(e, x[0]));
    return of(select(e, mask, x[1], x[2]));
  });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, cast(e, x[0], DType::i32), DType::f32)); });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(reduce_precision(e, x[0], 5, 10)); });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, argmax(e, x[0], 0), DType::f32)); });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, top_k(e, x[0], 2), DType::f32)); });
  told("sr", {m, m}, [](Emit &e, const Ids &x) {
    return of(bucket_sums(e, bucketize(e, x[0], e.constant(make_tensor(DType::f32, {5}))), x[1], 6));
  });
  told("s", {m}, [](Emit &e, const Ids &x) {
    const auto v = std::make_shared<const Vocabulary>(std::vector<std::string>{"a", "b"}, Vocabulary::Rules{});
    const Id ids = cast(e, x[0], DType::i64), tokens = token_at(e, ids, v);
    Ids all{lookup(e, tokens, v),        hash_bins(e, tokens, {4}),        cross_bins(e, {tokens, ids}, 5),
            count_tokens(e, tokens, {}), vectorize(e, tokens, {{}, v, 4}), encode(e, ids, {4}, x[0])};
    for (Id &y : all) y = cast(e, y, DType::f32);
    return all;
  });
  told("s", {m}, [](Emit &e, const Ids &x) {
    constexpr int64_t one[] = {1}, first[] = {0};
    const auto ngrams = std::make_shared<const Ngrams>(one, one, first, 0);
    const Splitter splitter = Splitter::at(".", -1, "");
    const Id words = numbers_as_texts(e, x[0]), count = count_pieces(e, words, splitter);
    const Id cut = pieces(e, words, splitter, e.constant(make_tensor(DType::i64, {2})));
    const Id joined = change_case(e, join_texts(e, words, words), true, true);
    Ids all{texts_equal(e, words, joined), texts_as_numbers(e, words, DType::f32), count, texts_equal(e, cut, cut),
            count_ngrams(e, count, ngrams)};
    for (Id &y : all) y = cast(e, y, DType::f32);
    return all;
  });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(fill(e, DType::f32, 1, x[0], 1, {})); });
  told("s", {m}, [](Emit &e, const Ids &x) {
    return of(random_keep(e, 0.5, 1, e.constant(make_tensor(DType::i64, {})), x[0], 2, {}));
  });
  told("g", {m}, [](Emit &e, const Ids &x) {
    check_finite(e, x[0]);
    return of(copy(e, x[0]));
  });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(stop_gradient(e, x[0])); });
  told("sg", {m, m}, [](Emit &e, const Ids &x) { return of(straight_through(e, x[0], x[1])); });
  told("g", {floats({2, 3, 4})}, [](Emit &e, const Ids &x) {
    return of(ctc(e, x[0], e.constant(make_zeros(DType::i32, {2, 1}))));
  });
  told("gs", {floats({3}), m}, [](Emit &e, const Ids &x) { return of(broadcast_like(e, x[0], x[1])); });
  told("gs", {m, floats({3})}, [](Emit &e, const Ids &x) { return of(sum_like(e, x[0], x[1])); });
  told("gs", {floats({3}), m}, [](Emit &e, const Ids &x) { return of(mean_grad(e, x[0], x[1])); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(squeeze(e, expand_dims(e, reshape(e, x[0], 0, {12}), 0), 0)); });
  told("gs", {m, m}, [](Emit &e, const Ids &x) { return of(ensure_size(e, x[0], x[1], 0, 4)); });
  told("r", {flags({}), m}, [](Emit &e, const Ids &x) {
    BodyWriter then(e), otherwise(e);
    const Id a = then.constant(x[1]), b = otherwise.constant(x[1]);
    return branch(e, x[0], then, {a}, otherwise, {b});
  });
  told("r", {m}, [](Emit &e, const Ids &x) {
    While r(e);
    const Id state = r.state(x[0]);
    return r.emit({mul(r.body(), state, state)}, e.scalar(3, DType::i64), none, none);
  });
  told("gs", {m, floats({12})}, [](Emit &e, const Ids &x) { return of(reshape_like(e, x[0], x[1])); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(slice(e, transpose(e, x[0], {1, 0}), 0, 1, 2)); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(flip(e, pad(e, x[0], 0, 1, 2), 1)); });
  for (bool linear : {false, true})
    told("g", {m}, [linear](Emit &e, const Ids &x) {
      Id y = repeat(e, x[0], 0, 2, linear), wrt = x[0];
      return of(mul(e, y, repeat(e, differentiate(e, square_sum(e, y), std::span(&wrt, 1))[0], 0, 2)));
    });
  told("gg", {m, m}, [](Emit &e, const Ids &x) { return of(concat(e, {x[0], x[1]}, 1)); });
  told("gg", {m, m}, [](Emit &e, const Ids &x) { return of(view(e, pack(e, {x[0], x[1]}, {0, 12}, 24), 6, {6, 2})); });
  for (Reduce f :
       {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min, Reduce::prod, Reduce::sum_squares, Reduce::sum_abs})
    told("g", {m}, [f](Emit &e, const Ids &x) { return of(reduce(e, f, x[0], {1})); });
  for (auto f : {ops::softmax, ops::log_softmax, ops::sparsemax, ops::hardmax})
    told("g", {m}, [f](Emit &e, const Ids &x) { return of(f(e, x[0], -1)); });
  told("gg", {m, m}, [](Emit &e, const Ids &x) { return custom(e, std::make_shared<Outside>(), {x[0], x[1]}); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(square_sum(e, x[0])); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(all_reduce(e, nullptr, x[0])); });
  told("ggg", {m, floats({3}), floats({3})},
       [](Emit &e, const Ids &x) { return of(normalize(e, x[0], 1, 1e-3, true, x[1], x[2])); });
  told("s", {m}, [](Emit &e, const Ids &x) {
    return of(random_normal(e, 1, e.constant(make_tensor(DType::i64, {})), x[0], 2, {}));
  });
  told("s", {m}, [](Emit &e, const Ids &x) {
    return of(random_uniform(e, 1, e.constant(make_tensor(DType::i64, {})), x[0], 2, {}));
  });
  told("gs", {m, floats({2})}, [](Emit &e, const Ids &x) { return of(gather(e, x[0], x[1])); });
  told("gss", {m, floats({4}), floats({7, 3})},
       [](Emit &e, const Ids &x) { return of(scatter_add(e, x[0], x[1], x[2])); });
  told("rrs", {m, floats({4}), floats({7, 3})},
       [](Emit &e, const Ids &x) { return of(row_sums(e, x[0], x[1], x[2]).rows); });
  for (auto f : {segment_sum, segment_max, segment_softmax})
    told("gss", {m, floats({4}), floats({7})}, [f](Emit &e, const Ids &x) { return of(f(e, x[0], x[1], x[2])); });
  told("gs", {m, floats({5})}, [](Emit &e, const Ids &x) { return of(segment_gather(e, x[0], x[1])); });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, indices(e, x[0], 1), DType::f32)); });
  told("s", {m}, [](Emit &e, const Ids &x) {
    return of(cast(e, range(e, cast(e, reduce(e, Reduce::sum, x[0], {}), DType::i32)), DType::f32));
  });
  told("ss", {floats({1, 3, 4}), floats({1, 2, 3})}, [](Emit &e, const Ids &x) {
    return of(cast(e, non_max_suppression(e, x[0], x[1], {2, 0.5, {}, false}).places, DType::f32));
  });
  told("gs", {m, floats({4}), flags({4})}, [](Emit &e, const Ids &x) { return of(pick(e, x[0], x[1], x[2])); });
  told("ggg", {m, floats({3, 2}), floats({2})},
       [](Emit &e, const Ids &x) { return of(matmul(e, x[0], x[1], {}, x[2])); });
  told("ggg", {floats({2, 4, 3}), floats({2, 5, 3}), floats({2, 5, 6}), flags({2, 5})},
       [](Emit &e, const Ids &x) { return of(attention(e, x[0], x[1], x[2], x[3], {.causal = true}).y); });
  told("rrr", {floats({2, 4, 3}), floats({2, 5, 3}), floats({2, 5, 6}), flags({2, 5})}, [](Emit &e, const Ids &x) {
    auto [y, sum] = attention(e, x[0], x[1], x[2], x[3], {.causal = true});
    return Ids{sum};
  });
  told("ggg", {image, floats({3, 3, 4, 2}), floats({2})},
       [](Emit &e, const Ids &x) { return of(conv(e, x[0], x[1], x[2], {})); });
  told("gg", {image, floats({3, 3, 2, 4})}, [](Emit &e, const Ids &x) {
    return of(conv_transpose(e, x[0], x[1], {}, {-1, -1}));
  });
  for (bool average : {false, true})
    told("g", {image}, [average](Emit &e, const Ids &x) { return of(pool(e, x[0], {.average = average})); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(sort(e, x[0], true).y); });
  told("g", {m}, [](Emit &e, const Ids &x) { return of(cumulate(e, x[0], 1, {})); });
  told("gggggg",
       {floats({2, 5, 3}), floats({3, 16}), floats({4, 16}), floats({16}), floats({2, 4}), floats({2, 4}),
        flags({2, 5})},
       [](Emit &e, const Ids &x) {
         auto [y, h, c] = lstm(e, x[0], x[1], x[2], x[3], x[4], x[5], x[6], false);
         return Ids{y, h, c};
       });
  told("ggg", {floats({2, 9}), floats({2, 9}), floats({2, 3})},
       [](Emit &e, const Ids &x) { return of(gru_cell(e, x[0], x[1], x[2])); });
  // By a sequence, a state, what stands still and is multiplied with; a comparison stops.
  told("ggsg", {m, floats({2, 3}), floats({2, 3}), floats({3, 3})}, [](Emit &e, const Ids &x) {
    Scan s(e);
    Id h = s.state(x[1]), still = s.constant(x[2]),
       sum = matmul(s.body, add(s.body, h, s.each(x[0])), s.constant(x[3]));
    s.become(h, select(s.body, binary(s.body, Binary::less, h, still), sum, h));
    return s.emit().states;
  });
  told("rrrr", {m, m, m, floats({})}, [](Emit &e, const Ids &x) {
    return of(update(e, ops::Sgd{.momentum = 0.9}, {.w = x[0], .g = x[1], .lr = x[3], .slots = {x[2]}})[0]);
  });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, sizes(e, {x[0]}, formulas({"0.0"})), DType::f32)); });
  told("s", {m}, [](Emit &e, const Ids &x) { return of(cast(e, zeros_of(e, {x[0]}, formulas({"0.0"})), DType::f32)); });
  auto update_by = [&](const auto &rule) {
    const auto slots = static_cast<size_t>(rule.slots());
    std::vector<Operand> in(2 + slots, m);
    in.push_back(floats({}));
    told(&"rrrrrr"[6 - in.size()], in, [rule](Emit &e, const Ids &x) {
      const Id number = x.back();
      UpdateFrom from{
          .w = x[0], .g = x[1], .lr = number, .t = e.constant(make_tensor(DType::i64, {})), .number = number};
      from.slots.assign(x.begin() + 2, x.end() - 1);
      return of(update(e, rule, from)[0]);
    });
  };
  const Operand steps = floats({2, 1, 3}), kept = floats({2, 4, 3});
  told("rr", {kept, steps}, [](Emit &e, const Ids &x) {
    return of(ring(e, x[0], x[1], e.scalar(0, DType::i64), RingOp(1, 1, 3, 1, 0)).window);
  });
  told("rrr", {steps, kept, kept}, [](Emit &e, const Ids &x) {
    return of(cached_attention(e, x[0], x[1], x[2], none, e.scalar(0, DType::i64), {false, 1, 4, 0}).y);
  });
#define DL4_TOLD(Rule) update_by(ops::Rule{});
  DL4_UPDATES(DL4_TOLD)
#undef DL4_TOLD
  return all;
}

// The outputs' sum by each float32 input, in letters; the names of the ops that `emit` adds.
std::string letters(const Told &t, std::set<std::string> &names) {
  std::string found;
  for (size_t i = 0; i < t.in.size(); ++i) {
    if (t.in[i].dtype != DType::f32) continue;
    Program p;
    Emit e(p);
    Ids x;
    for (const Operand &o : t.in) x.push_back(e.input("x", o.dtype, o.shape));
    Id loss = e.scalar(0);
    for (Id y : t.emit(e, x)) loss = add(e, loss, reduce(e, Reduce::sum, y, {}));
    try {
      found += differentiate(e, loss, std::span(&x[i], 1))[0] == none ? 's' : 'g';
    } catch (const Error &error) {
      EXPECT_NE(error.message.find("has no gradient"), std::string::npos) << error.message;
      found += 'r';
    }
    for (const Step &s : p.steps) names.insert(std::string(s.op->name()));
  }
  return found;
}

// All ops by name, as their files declare them, and the base that says how they are differentiated.
std::map<std::string, std::string> declared_ops() {
  std::map<std::string, std::string> all;
  const std::regex op(R"re(struct \w+ final\s+: (\w+)<\w+,\s*"(\w+)")re");
  for (const auto &file : std::filesystem::directory_iterator(DL4_SOURCE_DIR "/src/ops")) {
    std::stringstream source;
    source << std::ifstream(file.path()).rdbuf();
    const std::string code = source.str();
    for (std::sregex_iterator at(code.begin(), code.end(), op), end; at != end; ++at) all[(*at)[2]] = (*at)[1];
  }
  return all;
}

TEST(Differentiate, EveryOpGivesStopsOrRefuses) {
  std::set<std::string> met;
  for (const Told &t : every_op()) {
    std::set<std::string> names;
    EXPECT_EQ(letters(t, names), t.expected) << *names.begin();
    met.merge(names);
  }
  std::set<std::string> stopping, refused;
  for (const auto &[name, base] : declared_ops()) {
    EXPECT_TRUE(met.count(name)) << name << " is not tried";
    if (base == "StopsGradients") stopping.insert(name);
    if (base == "NotDifferentiable") refused.insert(name);
  }
  EXPECT_EQ(stopping, (std::set<std::string>{"argmax", "band_mask", "bucketize", "cast", "check_finite", "count_ngrams",
                                             "encode", "fill", "indices", "non_max_suppression", "random_keep",
                                             "random_normal", "random_uniform", "range", "reduce_precision", "sizes",
                                             "stop_gradient", "top_k", "zeros_of"}));
  EXPECT_EQ(refused,
            (std::set<std::string>{"attention_grad", "branch", "bucket_sums", "cached_attention", "custom_grad",
                                   "delay", "gru_cell_grad", "lstm_grad", "ring", "row_sums", "while"}));
  EXPECT_GT(met.size(), 40u);
}

}  // namespace
}  // namespace dl4::plan::DL4_FILE
