// update: one pass over a flat block of weights and what its rule keeps beside them.
#include "ops/update.hpp"

#include <array>

namespace dl4::ops {
namespace {

constexpr size_t most_slots = 3;

// f(begin, end, except) for ranges that make up [begin, end); except: nullptr, or what holds there.
template <class F>
void each_range(std::span<const UpdateExcept> except, int64_t begin, int64_t end, F f) {
  for (const UpdateExcept &x : except) {
    if (x.end <= begin) continue;
    if (x.begin >= end) break;
    if (x.begin > begin) f(begin, x.begin, nullptr);
    begin = std::max(begin, x.begin);
    f(begin, std::min(end, x.end), &x);
    begin = std::min(end, x.end);
  }
  if (begin < end) f(begin, end, nullptr);
}

}  // namespace

template <class How>
std::vector<Operand> UpdateOf<How>::infer(Operands src) const {
  const auto slots = static_cast<size_t>(how.slots());
  const size_t given = src.size() - first_slot - 2 * parts.size();  // bounded: of a step's sources
  if (given != slots)
    fail(Code::invalid_argument, How::name, " keeps ", slots, " values beside each weight, got ", given);
  Operand block = src[0];
  want_float(How::name, block);
  for (size_t i = first_slot; i < first_slot + slots; ++i) {
    want_float(How::name, src[i]);
    block.shape = same_shape(How::name, block.shape, src[i].shape);
  }
  want_gradient(How::name, src, parts, first_slot + slots);
  want_number(text("the learning rate of ", How::name).c_str(), src[2], DType::f32);
  if (How::counts) want_number(text("the step of ", How::name).c_str(), src[3], DType::i64);
  if (How::has_number) want_number(text("the number of ", How::name).c_str(), src[4], DType::f32);
  return std::vector<Operand>(1 + slots, block);
}

template <class How>
std::unique_ptr<kernels::Kernel> UpdateOf<How>::kernel(const Site &site) const {
  const auto slots = static_cast<size_t>(how.slots());
  const bool rests = how.rests() && how.weight_decay == 0;
  const int64_t moved = rests ? gradient_elements(site, parts) : site.dst[0].shape.elements();
  const double us = us_per_byte * static_cast<double>(checked_mul(moved, checked_add(12, checked_mul(slots, 8))));
  How undecayed = how;
  undecayed.weight_decay = 0;
  return sliced(
      How::name, site, site.dst[0].shape.elements(), us,
      [=, how = how, except = except, rows = Rows(site, parts, first_slot + slots)](int64_t begin, int64_t end,
                                                                                    const Run &r) {
        kernels::Now now{*r.in<float>(2)};
        if constexpr (How::counts) now.t = *r.in<int64_t>(3);
        if constexpr (How::has_number) now.number = *r.in<float>(4);
        float *w = take_over(r, 0, 0, begin, end) - begin;
        std::array<float *, most_slots> kept{};
        for (size_t i = 0; i < slots; ++i) {
          const int at = static_cast<int>(i);
          kept[i] = take_over(r, first_slot + at, 1 + at, begin, end) - begin;
        }
        auto go = [&](const How &rule, int64_t from, int64_t to, const float *g) {
          std::array<float *, most_slots> at{};
          for (size_t i = 0; i < slots; ++i) at[i] = kept[i] + from;
          kernels::update(rule, now, w + from, g, at.data(), to - from);
        };
        static constexpr int64_t most = 1024;
        static constexpr float zeros[most] = {};
        rows.each(r, begin, end, [&](int64_t first, int64_t last, const float *g) {
          if (!g && rests) return;
          each_range(except, first, last, [&](int64_t from, int64_t to, const UpdateExcept *x) {
            if (x && !x->moves) return;
            const How &rule = x ? undecayed : how;
            if (g) return go(rule, from, to, g + (from - first));
            for (int64_t at = from; at < to; at += most) go(rule, at, std::min(to, at + most), zeros);
          });
        });
      },
      line_block);
}

template <class How>
std::vector<Id> update(Emit &e, const How &how, const UpdateFrom &from) {
  std::vector<Id> src{from.w, from.g, from.lr, How::counts ? from.t : none, How::has_number ? from.number : none};
  src.insert(src.end(), from.slots.begin(), from.slots.end());
  return e.step(std::make_shared<UpdateOf<How>>(how, from.except), std::move(src));
}

#define DL4_UPDATE(How)                   \
  template struct UpdateOf<kernels::How>; \
  template std::vector<Id> update(Emit &, const kernels::How &, const UpdateFrom &);
DL4_UPDATES(DL4_UPDATE)
#undef DL4_UPDATE

}  // namespace dl4::ops
