// Feeds a stream's inputs to its executable, one tick at a time.
#include "runtime/stream.hpp"

#include <algorithm>
#include <cstring>

#include "backend/backend.hpp"

namespace dl4::runtime {
namespace {

Shape with_batch(Shape s, int64_t batch) {
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] == free_dim) s = s.with(i, batch);
  return s;
}

}  // namespace

Ticks ticks_of(plan::Tick tick, const std::vector<Tensor> &states, Options options) {
  for (const std::string &name : dispatch::library_kernels()) options.plan.kernels_off.push_back(name);
  options.plan.cutting.by_row = !tick.together.empty();
  const auto packs = std::make_shared<plan::Packs>();
  Ticks ticks{Executable::make(std::move(tick.program), states, packs, options), {}, nullptr};
  for (plan::Tick::Together &t : tick.together)
    ticks.together.push_back(Executable::make(std::move(t.program), states, packs, options));
  ticks.how = std::make_shared<const plan::Tick>(std::move(tick));
  return ticks;
}

Stream::Stream(const Ticks &ticks, int64_t batch) : batch_(batch), ticks_(ticks), tick_(ticks.how.get()) {
  const ops::Program &p = ticks.one->program();
  const size_t states = tick_->states.size(), first = p.inputs.size() - states;
  inputs_ = first - 1;
  int64_t bytes = 0;
  const auto made = [&](DType dtype, const Shape &shape, int copies) {
    bytes = checked_add(bytes, checked_mul(copies, checked_mul(shape.elements(), size_of(dtype))));
    ticks.one->need_room(bytes);
    return make_zeros(dtype, shape);
  };
  for (const auto &ports : {p.inputs, p.outputs})
    for (ops::Id v : ports)
      if (p[v].dtype == DType::string)
        fail(Code::unsupported, "a stream takes and gives numbers; \"", p[v].name, "\" is of strings");
  for (size_t i = 0; i < inputs_; ++i) {
    const ops::Value &v = p[p.inputs[i]];
    const bool is_sequence = tick_->sequences[i];
    if (is_sequence && v.shape[0] != free_dim && v.shape[0] != batch_)
      fail(Code::shape_mismatch, "\"batch\": expected ", v.shape[0], ", of which \"", v.name, "\" is, got ", batch_);
    if (!waits()) continue;
    Held held;
    if (is_sequence) {
      held.now = made(v.dtype, with_batch(v.shape, batch_), 2);
      held.before = make_zeros(v.dtype, held.now.shape);
    }
    waiting_.push_back(std::move(held));
  }
  for (size_t i = 0; i < states; ++i) {
    const ops::Value &v = p[p.inputs[first + i]];
    const Shape shape = with_batch(v.shape, batch_);
    const plan::Tick::State &how = tick_->states[i];
    last_begin_ = std::max(last_begin_, how.begin);
    Kept kept{v.dtype, shape};
    for (int a = v.shape.rank(); a-- > 0;)
      if (v.shape[a] == free_dim) kept.batch_axis = a;
    if (shape.rank() == 0 || (how.is_ring && how.axis == 0)) kept.batch_axis = -1;
    kept.bytes = checked_mul(shape.elements(), size_of(v.dtype));
    if (how.is_ring) {
      kept.outer = shape.elements(0, how.axis);
      kept.row = checked_mul(shape.elements(how.axis + 1, shape.rank()), size_of(v.dtype));
    }
    int64_t &end = how.is_ring ? rings_bytes_ : half_;
    kept.at = end;
    end = checked_add(end, round_up(kept.bytes, 64));
    kept_.push_back(std::move(kept));
  }
  bytes = checked_add(bytes, checked_mul(3, half_), rings_bytes_);
  ticks.one->need_room(bytes);
  lay_out();
  for (size_t j = 0; waits() && j < outputs_count(); ++j) {
    const ops::Value &v = p[p.outputs[j]];
    Held held;
    if (!tick_->outputs[j].is_sequence) {
      held.now = made(v.dtype, with_batch(v.shape, batch_), 2);
      held.before = make_zeros(v.dtype, held.now.shape);
    }
    last_.push_back(std::move(held));
  }
  steady_ = std::max(last_begin_, tick_->begun);
  for (const plan::Tick::Output &o : tick_->outputs)
    steady_ = std::max(steady_, o.is_sequence && o.steps > 0 ? (o.late + o.steps - 1) / o.steps : o.late);
  reset();
}

Stream::Alone &Stream::alone() {
  if (alone_) return *alone_;
  auto made = std::make_unique<Alone>();
  made->one.executable = ticks_.one;
  made->one.steps = tick_->steps;
  for (size_t i = 0; i < ticks_.together.size(); ++i) {
    Pace &pace = made->together.emplace_back();
    pace.executable = ticks_.together[i];
    pace.ticks = tick_->together[i].ticks;
    pace.steps = checked_mul(pace.ticks, tick_->steps);
  }
  made->in_steps.resize(inputs());
  made->given.resize(outputs_count());
  made->undo.resize(kept_.size());
  alone_ = std::move(made);
  const ops::Program &p = ticks_.one->program();
  each_pace([&](Pace &pace) {
    pace.in.resize(p.inputs.size());
    pace.out.resize(p.outputs.size());
    pace.strides.resize(inputs());
    pace.whole.resize(outputs_count());
    pace.parts.resize(outputs_count());
  });
  return *alone_;
}

Stream::~Stream() {
  if (!alone_) return;
  each_pace([](Pace &pace) {
    if (!pace.frame) return;
    if (auto ready = pace.frame->take()) pace.executable->finish(std::move(*ready));
  });
}

int64_t Stream::steps(std::span<const View> in) const {
  for (size_t i = 0; i < in.size(); ++i)
    if (tick_->sequences[i]) return in[i].shape.begin()[1];
  return 0;
}

void Stream::check(std::span<const View> in, int64_t batch) const {
  const ops::Program &p = ticks_.one->program();
  if (in.size() != inputs()) fail(Code::invalid_argument, "expected ", inputs(), " inputs, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Value &v = p[p.inputs[i]];
    Shape expected = v.shape;
    if (tick_->sequences[i]) expected = expected.with(1, free_dim);
    if (in[i].dtype != v.dtype || !compatible(in[i].shape, expected) || in[i].shape.rank() == 0 ||
        in[i].shape[0] != batch)
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected ", v.dtype, ' ',
           expected.rank() ? expected.with(0, batch) : expected, ", got ", in[i].dtype, ' ', in[i].shape);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (!tick_->sequences[i]) continue;
    if (const int64_t n = steps(in); in[i].shape[1] != n || n < 1)
      fail(Code::shape_mismatch, "input \"", p[p.inputs[i]].name, "\": expected ",
           n < 1 ? std::string("at least 1 step") : text(n, " steps as of the inputs before it"), ", got ",
           in[i].shape[1]);
  }
}

void Stream::bind(std::span<const View> in) {
  alone_->last_in.clear();
  bind(alone_->one, in);
  for (Pace &pace : alone_->together)
    if (steps(in) >= pace.steps) bind(pace, in);
}

// Makes the views of a run. A sequence followed by others has the strides of the whole, since those of batch 1 are
// undefined.
void Stream::bind(Pace &pace, std::span<const View> in) {
  const int64_t steps = pace.steps;
  for (size_t i = 0; i < in.size(); ++i) {
    View &v = pace.in[i] = in[i];
    if (!in[i].strides) alone_->in_steps[i].bytes = checked_mul(in[i].shape.elements(), size_of(v.dtype));
    if (!tick_->sequences[i]) continue;
    const Shape &whole = in[i].shape;
    auto &strides = pace.strides[i];
    if (in[i].strides)
      std::copy_n(in[i].strides, whole.rank(), strides.begin());
    else
      strides = dense_strides(whole);
    alone_->in_steps[i].advance = strides[1] * size_of(v.dtype);  // bounded: a tensor that exists
    v.shape = whole.with(1, steps);
    v.strides = in[i].strides || (batch_ > 1 && whole[1] > steps) ? strides.data() : nullptr;
    if (!waits() || pace.ticks > 1) continue;
    const Tensor &t = waiting_[i].now;
    v = {t.dtype, t.shape, t.data.get()};
  }
  pace.in[in.size()] = {DType::i64, {}, &alone_->number};
  const size_t first = inputs() + 1, to = outputs_count();
  for (size_t i = 0; i < kept_.size(); ++i) {
    pace.in[first + i] = pace.out[to + i] = {kept_[i].dtype, kept_[i].shape, now(i)};
  }
}

namespace {

bool is_like(std::span<const View> a, std::span<const View> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].dtype != b[i].dtype || a[i].strides || b[i].strides || !(a[i].shape == b[i].shape)) return false;
  return true;
}

}  // namespace

bool Stream::is_as_before(std::span<const View> in, std::span<const View> out) const {
  return !lease_ && alone_ && !alone_->last_in.empty() && is_like(in, alone_->last_in) &&
         is_like(out, alone_->last_out);
}

std::vector<ops::Operand> Stream::outputs(std::span<const View> in, const std::atomic<int32_t> *cancel) {
  std::vector<ops::Operand> all;
  if (const Alone &a = alone(); !a.last_in.empty() && is_like(in, a.last_in)) {
    for (const View &v : a.last_out) all.push_back({v.dtype, v.shape});
  } else {
    check(in);
    bind(in);
    all = alone_->one.executable->outputs(alone_->one.in, cancel);
    all.resize(outputs_count());
  }
  const int64_t n = steps(in);
  for (size_t j = 0; j < all.size(); ++j)
    if (tick_->outputs[j].is_sequence) all[j].shape = all[j].shape.with(1, comes(j, n));
  return all;
}

void Stream::refuse_overlap(std::span<const View> in, std::span<const View> out) const {
  for (size_t j = 0; j < out.size(); ++j) {
    const int64_t n = out[j].shape.elements();
    for (size_t i = 0; i < in.size(); ++i)
      if (!in[i].strides && overlap(out[j], n, in[i], in[i].shape.elements()))
        fail(Code::invalid_argument, "output ", j, " overlaps input ", i, " in memory");
    for (size_t i = 0; i < j; ++i)
      if (overlap(out[j], n, out[i], out[i].shape.elements()))
        fail(Code::invalid_argument, "output ", j, " overlaps output ", i, " in memory");
  }
}

// The same for views of known sizes.
bool Stream::overlaps(std::span<const View> in, std::span<const View> out) const noexcept {
  const auto meet = [](const View &a, int64_t n, const View &b, int64_t m) {
    const auto *x = static_cast<const std::byte *>(a.data), *y = static_cast<const std::byte *>(b.data);
    return x < y + m && y < x + n && n > 0 && m > 0;
  };
  for (size_t j = 0; j < out.size(); ++j) {
    for (size_t i = 0; i < in.size(); ++i)
      if (meet(out[j], alone_->given[j].bytes, in[i], alone_->in_steps[i].bytes)) return true;
    for (size_t i = 0; i < j; ++i)
      if (meet(out[j], alone_->given[j].bytes, out[i], alone_->given[i].bytes)) return true;
  }
  return false;
}

// The number of an output's steps depends on how many were taken.
void Stream::need_steps(std::span<const View> out, int64_t steps) const {
  for (size_t j = 0; j < out.size(); ++j) {
    if (!tick_->outputs[j].is_sequence) continue;
    const int64_t n = comes(j, steps);
    if (out[j].shape.rank() < 2 || out[j].shape.begin()[1] != n)
      fail(Code::shape_mismatch, "output ", j, ": expected ", n, " steps, got shape ", out[j].shape);
  }
}

void Stream::bind_outputs(std::span<const View> out) {
  const ops::Program &p = ticks_.one->program();
  alone_->is_steady = tick_->steps == 1;
  for (size_t j = 0; j < out.size(); ++j) {
    check_dense(j, out[j]);
    const plan::Tick::Output &o = tick_->outputs[j];
    Given &g = alone_->given[j] = {};
    g.bytes = checked_mul(out[j].shape.elements(), size_of(out[j].dtype));
    alone_->is_steady &= o.late == 0;
    if (o.is_sequence && out[j].shape.rank() != p[p.outputs[j]].shape.rank())
      fail(Code::shape_mismatch, "output ", j, ": expected ", p[p.outputs[j]].shape.rank(), " axes, got shape ",
           out[j].shape);
    each_pace([&](Pace &pace) {
      View &v = pace.out[j] = out[j];
      if (!o.is_sequence) return;
      const int64_t steps = checked_mul(pace.ticks, o.steps);
      pace.whole[j] = batch_ == 1 || v.shape[1] == steps;
      v.shape = v.shape.with(1, steps);
      g.row = checked_mul(v.shape.elements(), size_of(v.dtype)) / checked_mul(batch_, steps);
      Tensor &part = pace.parts[j];
      const bool wanted = pace.ticks == 1 ? !pace.whole[j] || o.late > 0 : !pace.whole[j] && out[j].shape[1] > steps;
      if (wanted && (part.shape != v.shape || part.dtype != v.dtype)) part = make_tensor(v.dtype, v.shape);
    });
  }
}

// Allocates all that later runs with these shapes need.
void Stream::get_ready(Pace &pace, const std::atomic<int32_t> *cancel) {
  if (!pace.frame) pace.frame = pace.executable->make_kept();
  if (auto other = pace.frame->take()) pace.executable->finish(std::move(*other));
  auto ready = pace.executable->prepare(pace.in, pace.out, cancel, true);
  pace.executable->bind_states(ready);
  if (!pace.frame->put(std::move(ready))) pace.executable->finish(std::move(ready));
}

// Copies steps [from, from + steps) of the inputs to the waiting ones at `to`.
void Stream::take(std::span<const View> in, int64_t from, int64_t to, int64_t steps) noexcept {
  for (size_t i = 0; i < in.size(); ++i) {
    if (!tick_->sequences[i]) continue;
    const Shape part = in[i].shape.with(1, steps);
    const auto strides = dense_strides(in[i].shape), to_strides = dense_strides(waiting_[i].now.shape);
    const int64_t *of = in[i].strides ? in[i].strides : strides.data(), size = size_of(in[i].dtype);
    kernels::copy_strided(size, part.rank(), part.begin(),
                          static_cast<const std::byte *>(in[i].data) + from * of[1] * size, of,
                          waiting_[i].now.data.get() + to * to_strides[1] * size, to_strides.data());
  }
}

// Sets the addresses of the outputs.
void Stream::aim(const Pace &pace, std::span<const View> out, Frame &frame) noexcept {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    const Given &g = alone_->given[j];
    auto *whole = static_cast<std::byte *>(out[j].data);
    frame.out[j] = !o.is_sequence                                        ? whole
                   : pace.whole[j] && alone_->number * o.steps >= o.late ? whole + g.next * g.row
                                                                         : pace.parts[j].data.get();
  }
}

// Copies outputs from a run's buffers to their destination.
void Stream::collect(const Pace &pace, std::span<const View> out, const Frame &frame) noexcept {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    if (!o.is_sequence) continue;
    Given &g = alone_->given[j];
    const int64_t steps = pace.ticks * o.steps;
    if (o.late == 0 && pace.whole[j]) {
      g.next += steps;
      continue;
    }
    const int64_t nothing = std::clamp<int64_t>(o.late - alone_->number * o.steps, 0, steps), n = steps - nothing;
    if (frame.out[j] == pace.parts[j].data.get() && n > 0) {
      const std::byte *from = frame.out[j] + nothing * g.row;
      auto *to = static_cast<std::byte *>(out[j].data) + g.next * g.row;
      for (int64_t b = 0; b < batch_; ++b, from += steps * g.row, to += out[j].shape[1] * g.row)
        std::memcpy(to, from, static_cast<size_t>(n * g.row));
    }
    g.next += n;
  }
}

void Stream::run_ticks(Pace &pace, int64_t runs, Place &place, std::span<const View> in, std::span<const View> out,
                       const std::atomic<int32_t> *cancel) {
  if (runs == 0) return;
  std::optional<Executable::Ready> ready = pace.frame->take();
  if (!ready) {
    ready.emplace(pace.executable->prepare(pace.in, pace.out, cancel, true));
    pace.executable->bind_states(*ready);
  }
  Frame &frame = *ready->frame;
  const int64_t steps = pace.steps;
  const bool waits = this->waits() && pace.ticks == 1;
  for (size_t i = 0; i < in.size(); ++i) frame.in[i] = static_cast<std::byte *>(in[i].data);
  frame.in[in.size()] = reinterpret_cast<std::byte *>(&alone_->number);
  for (int64_t r = 0; r < runs; ++r) {
    if (waits) take(in, std::exchange(place.at, place.at + steps - place.wait), place.wait, steps - place.wait);
    for (size_t i = 0; i < in.size(); ++i) {
      // bounded: a tensor that exists
      std::byte *from = static_cast<std::byte *>(in[i].data) + place.at * alone_->in_steps[i].advance;
      if (tick_->sequences[i] && waits)
        frame.in[i] = waiting_[i].now.data.get();
      else if (pace.in[i].strides)
        pace.executable->stage(*ready, i, pace.in[i], from);
      else
        frame.in[i] = from;
    }
    aim_states(frame);
    aim(pace, out, frame);
    begin_states();
    pace.executable->run(*ready, cancel);
    std::swap(now_, next_);
    collect(pace, out, frame);
    alone_->number += pace.ticks;
    if (waits)
      place.wait = 0;
    else
      place.at += steps;
  }
  if (!pace.executable->keeps() || !pace.frame->put(std::move(*ready))) pace.executable->finish(std::move(*ready));
}

// Combines as many ticks as possible, except the first ones and one that begins with waiting steps.
void Stream::run_ticks(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  const int64_t n = steps(in);
  Place place{tick_->rest(taken_), 0};
  const int64_t ticks = tick_->ticks(place.wait + n);
  alone_->number = tick_->ticks(taken_);
  for (Given &g : alone_->given) g.next = 0;
  const int64_t apart = std::clamp<int64_t>(steady_ - alone_->number, place.wait > 0 ? 1 : 0, ticks);
  int64_t left = ticks - apart;
  run_ticks(alone_->one, apart, place, in, out, cancel);
  for (Pace &pace : alone_->together) {
    if (n < pace.steps) continue;  // not bound
    const int64_t runs = left / pace.ticks;
    run_ticks(pace, runs, place, in, out, cancel);
    left -= runs * pace.ticks;  // bounded: of the ticks of the call
  }
  run_ticks(alone_->one, left, place, in, out, cancel);
  if (waits() && place.at < n) take(in, place.at, place.wait, n - place.at);
  finish_outputs(out, ticks);
  taken_ += n;
}

void Stream::run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel,
                 bool as_before) {
  if (!as_before) {
    check(in);
    check_count(out, outputs_count());
  }
  if (!as_before || overlaps(in, out)) refuse_overlap(in, out);
  const int64_t n = steps(in), ticks = tick_->ticks(tick_->rest(taken_) + n);
  if (ticks > tick_->most - tick_->ticks(taken_))
    fail(Code::unsupported, "the sequence would have ", taken_ + n,
         " steps, more than its attention keeps; a larger \"cache\" or \"cache_full\": \"slide\" of the session allows "
         "it");
  if (!as_before || !alone_->is_steady) need_steps(out, n);
  if (!as_before) {
    own();
    bind(in);
    bind_outputs(out);
    get_ready(alone_->one, cancel);
    for (Pace &pace : alone_->together)
      if (n >= pace.steps) get_ready(pace, cancel);
    alone_->last_in.assign(in.begin(), in.end());
    alone_->last_out.assign(out.begin(), out.end());
  }
  keep(ticks);
  try {
    run_ticks(in, out, cancel);
  } catch (...) {
    alone_->last_in.clear();
    put_back();
    throw;
  }
}

}  // namespace dl4::runtime
