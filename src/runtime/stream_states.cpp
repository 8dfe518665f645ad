// What a stream keeps between calls: states, waiting steps, outputs of the last tick.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/stream.hpp"

namespace dl4::runtime {
namespace {

// scalar: null for 0.
void fill(std::byte *to, int64_t bytes, const Tensor &scalar) noexcept {
  if (!scalar.data) return static_cast<void>(std::fill_n(to, bytes, std::byte{0}));
  const int64_t each = size_of(scalar.dtype);
  for (int64_t i = 0; i < bytes; i += each) std::memcpy(to + i, scalar.data.get(), static_cast<size_t>(each));
}

// Fills a value that does not exist yet: NaN, or 0 for integers.
void fill_nothing(const Tensor &t) {
  if (t.dtype == DType::f32)
    std::fill_n(t.as<float>(), t.elements(), std::numeric_limits<float>::quiet_NaN());
  else if (t.dtype == DType::f64)
    std::fill_n(t.as<double>(), t.elements(), std::numeric_limits<double>::quiet_NaN());
  else
    std::ranges::fill(t.memory(), std::byte{0});
}

}  // namespace

void Stream::lay_out() {
  const int64_t bytes = checked_add(checked_mul(2, half_), rings_bytes_);
  Bytes memory = allocate(bytes);
  std::fill_n(memory.get(), bytes, std::byte{0});
  point_into(std::move(memory));
}

void Stream::point_into(Bytes memory) noexcept {
  memory_ = std::move(memory);
  spare_ = nullptr;
  now_ = memory_.get();
  next_ = now_ + half_;
  rings_ = next_ + half_;
}

void Stream::reset() {
  own();
  taken_ = 0;
  for (size_t i = 0; i < kept_.size(); ++i) fill(now(i), kept_[i].bytes, tick_->states[i].initial);
  for (const Held &h : waiting_)
    if (h.now.data) std::ranges::fill(h.now.memory(), std::byte{0});
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
  own();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    const int64_t outer = k.batch_axis < 0 ? 0 : k.shape.elements(0, k.batch_axis);
    if (outer == 0) continue;
    const int64_t each = k.bytes / outer / batch_;
    // bounded: of a state that exists
    for (int64_t o = 0; o < outer; ++o) fill(now(i) + (o * batch_ + row) * each, each, tick_->states[i].initial);
  }
}

void Stream::stop_sharing() {
  if (lease_.is_last()) return lease_.end();
  const int64_t bytes = checked_add(checked_mul(2, half_), rings_bytes_);
  ticks_.one->need_room(bytes);
  Bytes memory = allocate(bytes);
  std::copy_n(now_, half_, memory.get());
  std::fill_n(memory.get() + half_, half_, std::byte{0});
  std::copy_n(rings_, rings_bytes_, memory.get() + (bytes - rings_bytes_));
  point_into(std::move(memory));
  lease_.end();
}

int64_t Stream::phase() const {
  if (!tick_->counts) return 0;
  if (tick_->counts_on) return taken_;
  const int64_t steady = checked_mul(steady_ + 1, tick_->steps);  // from there on all ticks are alike
  return taken_ < steady ? taken_ : steady + tick_->rest(taken_);
}

int64_t Stream::first_place(size_t state, int64_t steps) const noexcept {
  const plan::Tick::State &how = tick_->states[state];
  return tick_->ticks(steps) * how.rows & (kept_[state].shape[how.axis] - 1);  // a power of 2
}

std::vector<std::pair<std::string, Tensor>> Stream::states() const {
  const ops::Program &p = ticks_.one->program();
  const Tensor steps{DType::i64, {}, Bytes(Bytes(), reinterpret_cast<std::byte *>(const_cast<int64_t *>(&taken_)))};
  std::vector<std::pair<std::string, Tensor>> all{{"steps", steps}};
  const Bytes &rings = spare_ && rings_ == spare_.get() ? spare_ : memory_;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Bytes &memory = tick_->states[i].is_ring ? rings : memory_;
    all.emplace_back(p[p.inputs[inputs() + 1 + i]].name, Tensor{kept_[i].dtype, kept_[i].shape, Bytes(memory, now(i))});
  }
  for (size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_[i].now.data) all.emplace_back("waiting/" + p[p.inputs[i]].name, waiting_[i].now);
  for (size_t j = 0; j < last_.size(); ++j)
    if (last_[j].now.data) all.emplace_back(text("output/", j), last_[j].now);
  return all;
}

std::vector<std::pair<std::string, Tensor>> Stream::saved() const {
  std::vector<std::pair<std::string, Tensor>> all = states();
  const int64_t ticks = tick_->ticks(taken_);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    const plan::Tick::State &how = tick_->states[i];
    const bool begins = how.begin > 0 && how.begin >= ticks;  // nothing has started it
    if (k.bytes == 0 || !(begins || how.is_ring)) continue;
    Tensor &t = all[1 + i].second;
    t = clone(t);
    if (begins) {
      fill(t.data.get(), k.bytes, how.initial);
      continue;
    }
    const int64_t capacity = k.shape[how.axis], rows = std::min(how.free, capacity), first = first_place(i, taken_);
    std::byte *ring = t.data.get();
    for (int64_t o = 0; o < k.outer; ++o, ring += capacity * k.row)  // bounded: of a state that exists
      for (int64_t r = 0; r < rows; ++r)                             // bounded: below its bytes
        fill(ring + ((first + r) & (capacity - 1)) * k.row, k.row, how.initial);
  }
  return all;
}

void Stream::begin_states() {
  if (alone_->number > last_begin_ || alone_->number == 0) return;
  for (size_t i = 0; i < kept_.size(); ++i)
    if (tick_->states[i].begin == alone_->number) fill(now(i), kept_[i].bytes, tick_->states[i].initial);
}

// Sets the addresses of the states that a tick reads and writes.
void Stream::aim_states(Frame &frame) noexcept {
  std::byte **in = frame.in.data() + inputs() + 1, **out = frame.out.data() + outputs_count();
  for (size_t i = 0; i < kept_.size(); ++i) {
    in[i] = now(i);
    out[i] = tick_->states[i].is_ring ? in[i] : next_ + kept_[i].at;
  }
}

// Outputs that are no sequences are those of the last tick.
void Stream::finish_outputs(std::span<const View> out, int64_t ticks) {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    if (o.is_sequence) continue;
    const Tensor given{out[j].dtype, out[j].shape, Bytes(Bytes(), static_cast<std::byte *>(out[j].data))};
    if (ticks > 0 && alone_->number <= o.late) fill_nothing(given);
    if (last_.empty() || !last_[j].now.data) continue;
    if (ticks > 0)
      std::ranges::copy(given.memory(), last_[j].now.data.get());
    else
      std::ranges::copy(last_[j].now.memory(), given.data.get());
  }
}

// Calls f for the contiguous byte ranges of a ring that so many ticks write.
template <class F>
void Stream::each_row(size_t state, int64_t ticks, F f) noexcept {
  const Kept &kept = kept_[state];
  const plan::Tick::State &how = tick_->states[state];
  const int64_t capacity = kept.shape[how.axis], rows = std::min(capacity, ticks * how.rows);
  const int64_t first = first_place(state, alone_->taken_before), head = std::min(rows, capacity - first);
  std::byte *ring = now(state), *undo = alone_->undo[state].data();
  for (int64_t o = 0; o < kept.outer; ++o, ring += capacity * kept.row) {
    f(ring + first * kept.row, undo, head * kept.row);
    f(ring, undo + head * kept.row, (rows - head) * kept.row);
    undo += rows * kept.row;
  }
}

void Stream::keep(int64_t ticks) {
  alone_->ran = ticks;
  alone_->taken_before = taken_;
  if (waits())
    for (auto *list : {&waiting_, &last_})
      for (Held &h : *list)
        if (h.now.data) std::ranges::copy(h.now.memory(), h.before.data.get());
  for (size_t i = 0; rings_bytes_ > 0 && i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    const plan::Tick::State &how = tick_->states[i];
    if (how.is_ring && writes_over(how, ticks)) {
      const int64_t rows = std::min(k.shape[how.axis], checked_mul(ticks, how.rows));
      const auto bytes = static_cast<size_t>(checked_mul(k.outer, rows, k.row));
      if (alone_->undo[i].size() < bytes) alone_->undo[i].resize(bytes);
      each_row(i, ticks,
               [](std::byte *ring, std::byte *undo, int64_t n) { std::memcpy(undo, ring, static_cast<size_t>(n)); });
    }
  }
  if (ticks <= 1 || half_ == 0) return;
  if (!alone_->before) alone_->before = allocate(half_);
  std::copy_n(now_, half_, alone_->before.get());
}

// After a successful run of one tick, `next` has the states before it.
void Stream::put_back() {
  const bool failed = taken_ == alone_->taken_before;
  for (size_t i = 0; i < kept_.size(); ++i)
    if (tick_->states[i].is_ring && writes_over(tick_->states[i], alone_->ran))
      each_row(i, alone_->ran,
               [](std::byte *ring, std::byte *undo, int64_t n) { std::memcpy(ring, undo, static_cast<size_t>(n)); });
  if (alone_->ran > 1 && half_ > 0)
    std::copy_n(alone_->before.get(), half_, now_);
  else if (alone_->ran == 1 && !failed)
    std::swap(now_, next_);
  for (auto *list : {&waiting_, &last_})
    for (Held &h : *list) std::swap(h.now, h.before);
  taken_ = alone_->taken_before;
}

}  // namespace dl4::runtime
