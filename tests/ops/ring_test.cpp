// ring and cached_attention: steps taken in a part at a time, and what the latest of them give.
#include "ops/matched.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

// Of a ring of `capacity` places before step tick * each: what step i is, with i counted modulo the capacity.
TEST(Ring, TakesStepsInAndGivesTheWindow) {
  struct {
    int64_t capacity, n, each, tick, count, dilation, skip;
  } const cases[] = {{4, 1, 1, 0, 3, 1, 0},   {4, 1, 1, 6, 3, 1, 1}, {8, 2, 2, 3, 3, 2, 1},  {8, 3, 3, 5, 8, 1, 0},
                     {8, 1, 1, 9, 3, 3, 0},   {4, 4, 4, 2, 4, 1, 0}, {2, 1, 1, 3, 1, 1, 1},  {8, 4, 1, 7, 9, 1, 1},
                     {4, 9, 3, 5, 12, 1, 0},  {4, 9, 3, 5, 5, 2, 2}, {4, 9, 1, 6, 13, 1, 0}, {2, 8, 2, 3, 3, 1, 4},
                     {8, 32, 1, 5, 38, 1, 0}, {4, 16, 1, 3, 6, 3, 0}};
  for (const auto &c : cases)
    for (int axis : {0, 1}) {
      const auto shaped = [&](int64_t steps) { return axis == 1 ? Shape{2, steps, 3} : Shape{steps, 2, 3}; };
      const Tensor state = random(shaped(c.capacity), 1), x = random(shaped(c.n), 2);
      const auto after = [&](std::vector<int64_t> i) {
        const int64_t place = i[static_cast<size_t>(axis)];
        for (int64_t j = c.n; j-- > 0;)
          if ((c.tick * c.each + j) % c.capacity == place) {
            i[static_cast<size_t>(axis)] = j;
            return at(x, i);
          }
        return at(state, i);
      };
      const auto window = [&](std::vector<int64_t> i) {
        int64_t &step = i[static_cast<size_t>(axis)];
        const int64_t first = c.tick * c.each;
        step = first + c.n - 1 - c.skip - (c.count - 1 - step) * c.dilation;
        const bool is_new = step >= first;
        step = is_new ? step - first : (step % c.capacity + c.capacity) % c.capacity;
        return at(is_new ? x : state, i);
      };
      const auto build = [&](Emit &e, const std::vector<Id> &in) {
        const RingValues made = ring(e, in[0], in[1], in[2], RingOp(axis, c.each, c.count, c.dilation, c.skip));
        return std::vector<Id>{made.state, made.window};
      };
      Case k;
      k.build = build;
      k.inputs = {state, x, tensor<int64_t>({}, {c.tick})};
      k.free_axes = {1 - axis};
      k.tolerance = 0;
      run_all_ways(k, {naive(shaped(c.capacity), after), naive(shaped(c.count), window)});
    }
}

TEST(Ring, Refusals) {
  const auto build = [](Emit &e, const std::vector<Id> &in) {
    return ring(e, in[0], in[1], e.scalar(0, DType::i64), RingOp(1, 1, 4, 2, 0)).window;
  };
  check_refused(build, {Shape{1, 6, 2}, Shape{1, 1, 2}}, Code::shape_mismatch,
                "ring: expected a capacity that is a power of two and known steps, got (1, 6, 2) and (1, 1, 2)");
  check_refused(build, {Shape{1, 4, 2}, Shape{1, 1, 2}}, Code::invalid_argument,
                "ring: a window of 4 steps that are 2 apart, 0 from the end, does not fit in 4 and 1 more");
  check_refused(build, {Shape{1, 8, 2}, Shape{1, 1, 3}}, Code::shape_mismatch,
                "ring: a state of (1, 8, 2) can't take in (1, 1, 3)");
}

TEST(CachedAttention, IsAttentionToTheLatestSteps) {
  for (bool heads : {false, true})
    for (bool masked : {false, true})
      for (int64_t tick : {0, 2, 3, 9}) {
        const int64_t n = 2, each = tick == 9 ? 1 : n, capacity = 8, window = 5, first = 1, depth = 3, width = 17;
        const int64_t h = heads ? 4 : 1, g = heads ? 2 : 1;
        const auto shaped = [&](int64_t steps, int64_t of, int64_t size) {
          return heads ? Shape{2, steps, of, size} : Shape{2, steps, size};
        };
        const Tensor q = random(shaped(n, h, depth), 1), k = random(shaped(capacity, g, depth), 2),
                     v = random(shaped(capacity, g, width), 3), mask = random({2, capacity}, 4, 0, 1, DType::boolean);
        const auto place = [&](int64_t b, int64_t step, int64_t head, int64_t i) {
          return heads ? std::vector<int64_t>{b, step, head, i} : std::vector<int64_t>{b, step, i};
        };
        Array y = zeros(q.shape.with(q.shape.rank() - 1, width));
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t a = 0; a < h; ++a) {
              const int64_t last = tick * each + j;
              double sum = 0;
              std::vector<double> out(static_cast<size_t>(width));
              for (int64_t s = std::max(first, last - window + 1); s <= last; ++s) {
                const int64_t slot = s % capacity, group = a / (h / g);
                if (masked && at(mask, {b, slot}) == 0) continue;
                double score = 0;
                for (int64_t d = 0; d < depth; ++d) score += at(q, place(b, j, a, d)) * at(k, place(b, slot, group, d));
                const double p = std::exp(0.5 * score);
                sum += p;
                for (int64_t i = 0; i < width; ++i) out[static_cast<size_t>(i)] += p * at(v, place(b, slot, group, i));
              }
              for (int64_t i = 0; i < width && sum > 0; ++i)
                y[((b * n + j) * h + a) * width + i] = out[static_cast<size_t>(i)] / sum;
            }
        std::vector<Tensor> inputs{q, k, v, tensor<int64_t>({}, {tick})};
        if (masked) inputs.push_back(mask);
        const auto build = [=](Emit &e, const std::vector<Id> &in) {
          return cached_attention(e, in[0], in[1], in[2], masked ? in[4] : none, in[3],
                                  {heads, 0.5f, window, first, each})
              .y;
        };
        check(build, inputs, to_tensor(DType::f32, y));

        // The same where the last two steps lie beside the rings, and others in their places.
        Tensor old_k = clone(k), old_v = clone(v), old_mask = clone(mask);
        const auto newest = [&](const Tensor &whole, Tensor &old) {
          Shape s = whole.shape;
          Tensor fresh = make_tensor(whole.dtype, s.with(1, n));
          const int64_t row = s.elements(2, s.rank()) * size_of(whole.dtype);
          for (int64_t b = 0; b < 2; ++b)
            for (int64_t j = 0; j < n; ++j) {
              const int64_t slot = (tick * each + j) % capacity;
              std::byte *place = old.data.get() + (b * capacity + slot) * row;
              std::copy_n(place, row, fresh.data.get() + (b * n + j) * row);
              std::fill_n(place, row, std::byte{0});
            }
          return fresh;
        };
        const Tensor new_k = newest(k, old_k), new_v = newest(v, old_v), new_mask = newest(mask, old_mask);
        std::vector<Tensor> beside{q, old_k, old_v, tensor<int64_t>({}, {tick}), new_k, new_v};
        if (masked) beside.insert(beside.end(), {old_mask, new_mask});
        const auto build_beside = [=](Emit &e, const std::vector<Id> &in) {
          return cached_attention(e, in[0], in[1], in[2], masked ? in[6] : none, in[3],
                                  {heads, 0.5f, window, first, each}, {in[4], in[5], masked ? in[7] : none})
              .y;
        };
        check(build_beside, beside, to_tensor(DType::f32, y));
      }
}

TEST(CachedAttention, Refusals) {
  const auto build = [](Emit &e, const std::vector<Id> &in) {
    return cached_attention(e, in[0], in[1], in[2], none, e.scalar(0, DType::i64), {false, 1, 8, 0}).y;
  };
  check_refused(build, {Shape{1, 2, 3}, Shape{1, 8, 3}, Shape{1, 8, 3}}, Code::invalid_argument,
                "cached_attention: a window of 8 steps does not fit in 8");
  const auto beside = [](Emit &e, const std::vector<Id> &in) {
    return cached_attention(e, in[0], in[1], in[2], none, e.scalar(0, DType::i64), {false, 1, 8, 0}, {in[3], in[4]}).y;
  };
  check_refused(beside, {Shape{1, 2, 3}, Shape{1, 8, 3}, Shape{1, 8, 5}, Shape{1, 1, 3}, Shape{1, 2, 5}},
                Code::shape_mismatch,
                "cached_attention: expected new keys (1, 2, 3) and values (1, 2, 5), got (1, 1, 3) and (1, 2, 5)");
  check_refused(build, {Shape{1, 1, 3}, Shape{1, 8, 4}, Shape{1, 8, 3}}, Code::shape_mismatch,
                "cached_attention: queries (1, 1, 3) can't attend to keys (1, 8, 4) and values (1, 8, 3)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
