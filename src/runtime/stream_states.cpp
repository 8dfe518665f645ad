// What a stream keeps from call to call: states, steps that wait, outputs of the last tick.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/stream.hpp"

namespace dl4::runtime {
namespace {

void fill(const Tensor &t, const Tensor &scalar) noexcept {
  const int64_t each = size_of(t.dtype);
  if (!scalar.data) std::ranges::fill(t.memory(), std::byte{0});
  if (!scalar.data) return;
  for (int64_t i = 0; i < t.elements(); ++i)
    std::memcpy(t.data.get() + i * each, scalar.data.get(), static_cast<size_t>(each));
}

// `bytes` of rings of so many rows, each turned so that place `first` becomes the first one.
void turned(std::byte *to, const std::byte *from, int64_t capacity, int64_t row, int64_t first, int64_t bytes) {
  const int64_t ring = capacity * row, head = first % capacity * row;
  for (int64_t at = 0; ring > 0 && at < bytes; at += ring) {
    std::memcpy(to + at, from + at + head, static_cast<size_t>(ring - head));
    std::memcpy(to + at + ring - head, from + at, static_cast<size_t>(head));
  }
}

// What stands where there is no number yet: NaN, of whole numbers 0.
void fill_nothing(const Tensor &t) {
  if (t.dtype == DType::f32)
    std::fill_n(t.as<float>(), t.elements(), std::numeric_limits<float>::quiet_NaN());
  else if (t.dtype == DType::f64)
    std::fill_n(t.as<double>(), t.elements(), std::numeric_limits<double>::quiet_NaN());
  else
    std::ranges::fill(t.memory(), std::byte{0});
}

// f(of the whole, of the row, bytes) for the parts of a row of a batch.
template <class F>
void each_part(const Tensor &whole, int batch_axis, int64_t row, const Tensor &one, F f) noexcept {
  const Shape &s = whole.shape;
  if (s.rank() == 0) return;
  const int64_t outer = s.elements(0, batch_axis), batch = s[batch_axis];
  const int64_t bytes = s.elements(batch_axis + 1, s.rank()) * size_of(whole.dtype);
  for (int64_t o = 0; o < outer; ++o)
    f(whole.data.get() + (o * batch + row) * bytes, one.data.get() + o * bytes, bytes);
}

}  // namespace

void Stream::reset() {
  taken() = 0;
  for (size_t i = 0; i < kept_.size(); ++i) fill(kept_[i].now, tick_->states[i].initial);
  for (const Held &h : waiting_)
    if (h.now.data) fill(h.now, {});
  for (const Held &h : last_)
    if (h.now.data) fill_nothing(h.now);
}

void Stream::need_rows_apart() const {
  if (tick_->counts)
    fail(Code::unsupported,
         "the rows of a batch are at one step: the model has late outputs, a cache, positions, or "
         "takes several steps at a time");
}

void Stream::reset(int64_t row) {
  if (batch_ == 1) return reset();
  need_rows_apart();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    Tensor one = make_zeros(k.now.dtype, k.now.shape.rank() ? k.now.shape.with(k.batch_axis, 1) : k.now.shape);
    fill(one, tick_->states[i].initial);
    each_part(k.now, k.batch_axis, row, one,
              [](std::byte *to, const std::byte *from, int64_t n) { std::memcpy(to, from, static_cast<size_t>(n)); });
  }
}

Stream Stream::fork() const {
  Stream other(executable_, tick_, batch_);
  const auto to = other.states(), from = states();
  for (size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i].second.memory(), to[i].second.data.get());
  return other;
}

// A ring of the block begins at its first place, one of a stream anywhere.
void Stream::take_row(int64_t row, const Stream &from) {
  need_rows_apart();
  taken() = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    const plan::Tick::State &how = tick_->states[i];
    each_part(k.now, k.batch_axis, row, from.kept_[i].now, [&](std::byte *to, const std::byte *source, int64_t n) {
      if (!how.is_ring) return static_cast<void>(std::memcpy(to, source, static_cast<size_t>(n)));
      turned(to, source, k.now.shape[how.axis], k.row, from.first_place(i, from.taken()), n);
    });
  }
}

void Stream::give_row(int64_t row, Stream &to) const {
  to.turns_ = taken();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    const plan::Tick::State &how = tick_->states[i];
    Kept &other = to.kept_[i];
    if (how.is_ring && !other.spare.data) other.spare = make_zeros(k.now.dtype, other.now.shape);
    each_part(k.now, k.batch_axis, row, how.is_ring ? other.spare : other.next,
              [&](const std::byte *source, std::byte *target, int64_t n) {
                if (!how.is_ring) return static_cast<void>(std::memcpy(target, source, static_cast<size_t>(n)));
                const int64_t capacity = k.now.shape[how.axis];
                turned(target, source, capacity, k.row, capacity - to.first_place(i, to.taken()), n);
              });
  }
}

void Stream::turn() {
  for (Kept &k : kept_) std::swap(k.now, k.next.data ? k.next : k.spare);
  taken() += std::exchange(turns_, 0);
}

void Stream::read_ahead(int depth) const noexcept {
  constexpr int64_t line = 64, most = 1024;
  if (depth == 0) return __builtin_prefetch(&taken_.data), __builtin_prefetch(&kept_);
  if (depth == 1) __builtin_prefetch(taken_.data.get(), 1);
  for (const Kept &k : kept_) {
    if (depth == 1) {
      __builtin_prefetch(&k.now.dtype);
      __builtin_prefetch(&k.now.data, 1);
      __builtin_prefetch(&k.next.data, 1);
      continue;
    }
    const int64_t bytes = std::min(most, k.now.bytes());
    for (const std::byte *data : {k.now.data.get(), k.next.data.get()})
      for (int64_t at = 0; data && at < bytes; at += line) __builtin_prefetch(data + at, 1);
  }
}

int64_t Stream::first_place(size_t state, int64_t steps) const noexcept {
  const plan::Tick::State &how = tick_->states[state];
  return tick_->ticks(steps) * how.rows & (kept_[state].now.shape[how.axis] - 1);  // a power of two
}

std::vector<std::pair<std::string, Tensor>> Stream::states() const {
  const ops::Program &p = executable_->program();
  std::vector<std::pair<std::string, Tensor>> all{{"steps", taken_}};
  for (size_t i = 0; i < kept_.size(); ++i) all.emplace_back(p[p.inputs[inputs() + 1 + i]].name, kept_[i].now);
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_[i].now.data) all.emplace_back("waiting/" + p[p.inputs[i]].name, waiting_[i].now);
  for (size_t j = 0; j < last_.size(); ++j)
    if (last_[j].now.data) all.emplace_back(text("output/", j), last_[j].now);
  return all;
}

void Stream::begin_states() {
  if (number_ > last_begin_ || number_ == 0) return;
  for (size_t i = 0; i < kept_.size(); ++i)
    if (tick_->states[i].begin == number_) fill(kept_[i].now, tick_->states[i].initial);
}

// Where a tick reads and writes its states.
void Stream::aim_states(Frame &frame) noexcept {
  std::byte **in = frame.in.data() + inputs() + 1, **out = frame.out.data() + outputs_count();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    in[i] = k.now.data.get();
    out[i] = (k.next.data ? k.next : k.now).data.get();
  }
}

// Outputs that are no sequences are those of the last tick.
void Stream::finish_outputs(std::span<const View> out, int64_t ticks) {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    if (o.is_sequence) continue;
    const Tensor given{out[j].dtype, out[j].shape, Bytes(Bytes(), static_cast<std::byte *>(out[j].data))};
    if (ticks > 0 && number_ < o.late) fill_nothing(given);
    if (!last_[j].now.data) continue;
    if (ticks > 0)
      std::ranges::copy(given.memory(), last_[j].now.data.get());
    else
      std::ranges::copy(last_[j].now.memory(), given.data.get());
  }
}

// The places of a ring that so many ticks write, as runs of bytes that lie together.
template <class F>
void Stream::each_row(size_t state, int64_t ticks, F f) noexcept {
  Kept &kept = kept_[state];
  const plan::Tick::State &how = tick_->states[state];
  const int64_t capacity = kept.now.shape[how.axis], rows = std::min(capacity, ticks * how.rows);
  const int64_t first = first_place(state, taken_before_), head = std::min(rows, capacity - first);
  std::byte *ring = kept.now.data.get(), *undo = kept.undo.data();
  for (int64_t o = 0; o < kept.outer; ++o, ring += capacity * kept.row) {
    f(ring + first * kept.row, undo, head * kept.row);
    f(ring, undo + head * kept.row, (rows - head) * kept.row);
    undo += rows * kept.row;
  }
}

void Stream::keep(int64_t ticks) {
  ran_ = ticks;
  taken_before_ = taken();
  for (auto *list : {&waiting_, &last_})
    for (Held &h : *list)
      if (h.now.data) std::ranges::copy(h.now.memory(), h.before.data.get());
  for (size_t i = 0; i < kept_.size(); ++i) {
    Kept &k = kept_[i];
    const plan::Tick::State &how = tick_->states[i];
    if (how.is_ring) {
      const int64_t rows = std::min(k.now.shape[how.axis], checked_mul(ticks, how.rows));
      const auto bytes = static_cast<size_t>(checked_mul(k.outer, rows, k.row));
      if (k.undo.size() < bytes) k.undo.resize(bytes);
      each_row(i, ticks,
               [](std::byte *ring, std::byte *undo, int64_t n) { std::memcpy(undo, ring, static_cast<size_t>(n)); });
    } else if (ticks > 1) {
      std::ranges::copy(k.now.memory(), k.before.data.get());
    }
  }
}

// Of a run of one tick `next` has what was before it, if it did not fail.
void Stream::put_back() {
  const bool failed = taken() == taken_before_;
  for (size_t i = 0; i < kept_.size(); ++i) {
    Kept &k = kept_[i];
    if (tick_->states[i].is_ring)
      each_row(i, ran_,
               [](std::byte *ring, std::byte *undo, int64_t n) { std::memcpy(ring, undo, static_cast<size_t>(n)); });
    else if (ran_ > 1)
      std::swap(k.now, k.before);
    else if (ran_ == 1 && !failed)
      std::swap(k.now, k.next);
  }
  for (auto *list : {&waiting_, &last_})
    for (Held &h : *list) std::swap(h.now, h.before);
  taken() = taken_before_;
}

}  // namespace dl4::runtime
