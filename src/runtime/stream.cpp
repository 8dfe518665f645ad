// A tick's part of what a run is given, tick after tick.
#include "runtime/stream.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::runtime {
namespace {

Shape with_batch(Shape s, int64_t batch) {
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] == free_dim) s = s.with(i, batch);
  return s;
}

}  // namespace

Stream::Stream(std::shared_ptr<Executable> executable, std::shared_ptr<const plan::Tick> tick, int64_t batch)
    : executable_(std::move(executable)), tick_(std::move(tick)), batch_(batch), taken_(make_zeros(DType::i64, {})) {
  const ops::Program &p = executable_->program();
  const size_t states = tick_->states.size(), first = p.inputs.size() - states;
  int64_t bytes = 0;
  const auto made = [&](DType dtype, const Shape &shape, int copies) {
    bytes = checked_add(bytes, checked_mul(copies, checked_mul(shape.elements(), size_of(dtype))));
    executable_->need_room(bytes);
    return make_zeros(dtype, shape);
  };
  for (size_t i = 0; i + 1 < first; ++i) {
    const ops::Value &v = p[p.inputs[i]];
    const bool is_sequence = tick_->sequences[i];
    if (is_sequence && v.shape[0] != free_dim && v.shape[0] != batch_)
      fail(Code::shape_mismatch, "\"batch\": expected ", v.shape[0], ", of which \"", v.name, "\" is, got ", batch_);
    in_steps_.push_back({is_sequence});
    Held held;
    if (is_sequence && waits()) {
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
    Kept kept;
    for (int a = v.shape.rank(); a-- > 0;)
      if (v.shape[a] == free_dim) kept.batch_axis = a;
    kept.now = made(v.dtype, shape, how.is_ring ? 1 : 3);
    if (how.is_ring) {
      kept.outer = shape.elements(0, how.axis);
      kept.row = checked_mul(shape.elements(how.axis + 1, shape.rank()), size_of(v.dtype));
    } else {
      kept.next = make_zeros(v.dtype, shape);
      kept.before = make_zeros(v.dtype, shape);
    }
    kept_.push_back(std::move(kept));
  }
  for (size_t j = 0; j < outputs_count(); ++j) {
    const ops::Value &v = p[p.outputs[j]];
    Held held;
    if (waits() && !tick_->outputs[j].is_sequence) {
      held.now = made(v.dtype, with_batch(v.shape, batch_), 2);
      held.before = make_zeros(v.dtype, held.now.shape);
    }
    last_.push_back(std::move(held));
  }
  in_.resize(p.inputs.size());
  out_.resize(p.outputs.size());
  in_strides_.resize(inputs());
  parts_.resize(outputs_count());
  given_.resize(outputs_count());
  reset();
}

Stream::~Stream() {
  if (!kept_frame_) return;
  if (auto ready = kept_frame_->take()) executable_->finish(std::move(*ready));
}

int64_t Stream::steps(std::span<const View> in) const {
  for (size_t i = 0; i < in.size(); ++i)
    if (in_steps_[i].is_sequence) return in[i].shape.begin()[1];
  return 0;
}

void Stream::check(std::span<const View> in, int64_t batch) const {
  const ops::Program &p = executable_->program();
  if (in.size() != inputs()) fail(Code::invalid_argument, "expected ", inputs(), " inputs, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Value &v = p[p.inputs[i]];
    Shape expected = v.shape;
    if (in_steps_[i].is_sequence) expected = expected.with(1, free_dim);
    if (in[i].dtype != v.dtype || !compatible(in[i].shape, expected) || in[i].shape.rank() == 0 ||
        in[i].shape[0] != batch)
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected ", v.dtype, ' ',
           expected.rank() ? expected.with(0, batch) : expected, ", got ", in[i].dtype, ' ', in[i].shape);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in_steps_[i].is_sequence) continue;
    if (const int64_t n = steps(in); in[i].shape[1] != n || n < 1)
      fail(Code::shape_mismatch, "input \"", p[p.inputs[i]].name, "\": expected ",
           n < 1 ? std::string("at least 1 step") : text(n, " steps as of the inputs before it"), ", got ",
           in[i].shape[1]);
  }
}

// The views of a tick. One of a sequence of which others follow has the strides of the whole: those of a batch of 1 say
// nothing.
void Stream::bind(std::span<const View> in) {
  last_in_.clear();
  for (size_t i = 0; i < in.size(); ++i) {
    View &v = in_[i] = in[i];
    if (!in[i].strides) in_steps_[i].bytes = checked_mul(in[i].shape.elements(), size_of(v.dtype));
    if (!in_steps_[i].is_sequence) continue;
    if (waits()) {
      const Tensor &t = waiting_[i].now;
      v = {t.dtype, t.shape, t.data.get()};
      continue;
    }
    const Shape &whole = in[i].shape;
    auto &strides = in_strides_[i];
    if (in[i].strides)
      std::copy_n(in[i].strides, whole.rank(), strides.begin());
    else
      strides = dense_strides(whole);
    v.shape = whole.with(1, 1);
    v.strides = in[i].strides || (batch_ > 1 && whole[1] > 1) ? strides.data() : nullptr;
    in_steps_[i].advance = strides[1] * size_of(v.dtype);  // bounded: a tensor that exists
  }
  in_[in.size()] = {DType::i64, {}, &number_};
  const size_t first = inputs() + 1, to = outputs_count();
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept &k = kept_[i];
    in_[first + i] = out_[to + i] = {k.now.dtype, k.now.shape, k.now.data.get()};
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
  return !last_in_.empty() && is_like(in, last_in_) && is_like(out, last_out_);
}

std::vector<ops::Operand> Stream::outputs(std::span<const View> in, const std::atomic<int32_t> *cancel) {
  std::vector<ops::Operand> all;
  if (!last_in_.empty() && is_like(in, last_in_)) {
    for (const View &v : last_out_) all.push_back({v.dtype, v.shape});
  } else {
    check(in);
    bind(in);
    all = executable_->outputs(in_, cancel);
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

// The same of views as before, whose bytes are known.
bool Stream::overlaps(std::span<const View> in, std::span<const View> out) const noexcept {
  const auto meet = [](const View &a, int64_t n, const View &b, int64_t m) {
    const auto *x = static_cast<const std::byte *>(a.data), *y = static_cast<const std::byte *>(b.data);
    return x < y + m && y < x + n && n > 0 && m > 0;
  };
  for (size_t j = 0; j < out.size(); ++j) {
    for (size_t i = 0; i < in.size(); ++i)
      if (meet(out[j], given_[j].bytes, in[i], in_steps_[i].bytes)) return true;
    for (size_t i = 0; i < j; ++i)
      if (meet(out[j], given_[j].bytes, out[i], given_[i].bytes)) return true;
  }
  return false;
}

// How many steps an output has depends on how many have been taken.
void Stream::need_steps(std::span<const View> out, int64_t steps) const {
  for (size_t j = 0; j < out.size(); ++j) {
    if (!tick_->outputs[j].is_sequence) continue;
    const int64_t n = comes(j, steps);
    if (out[j].shape.rank() < 2 || out[j].shape.begin()[1] != n)
      fail(Code::shape_mismatch, "output ", j, ": expected ", n, " steps, got shape ", out[j].shape);
  }
}

void Stream::bind_outputs(std::span<const View> out) {
  const ops::Program &p = executable_->program();
  is_steady_ = tick_->steps == 1;
  for (size_t j = 0; j < out.size(); ++j) {
    if (out[j].strides) fail(Code::unsupported, "output ", j, ": expected a dense tensor, got a strided one");
    const plan::Tick::Output &o = tick_->outputs[j];
    View &v = out_[j] = out[j];
    Given &g = given_[j] = {};
    g.bytes = checked_mul(v.shape.elements(), size_of(v.dtype));
    if (!o.is_sequence) continue;
    if (v.shape.rank() != p[p.outputs[j]].shape.rank())
      fail(Code::shape_mismatch, "output ", j, ": expected ", p[p.outputs[j]].shape.rank(), " axes, got shape ",
           v.shape);
    is_steady_ &= o.late == 0;
    g.is_whole = batch_ == 1 || v.shape[1] == o.steps;
    v.shape = v.shape.with(1, o.steps);
    g.row = checked_mul(v.shape.elements(), size_of(v.dtype)) / checked_mul(batch_, o.steps);
    if ((!g.is_whole || o.late > 0) && (parts_[j].shape != v.shape || parts_[j].dtype != v.dtype))
      parts_[j] = make_tensor(v.dtype, v.shape);
  }
}

// Copies steps [from, from + steps) of the inputs to places from `to` on of those that wait.
void Stream::take(std::span<const View> in, int64_t from, int64_t to, int64_t steps) noexcept {
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in_steps_[i].is_sequence) continue;
    const Shape part = in[i].shape.with(1, steps);
    const auto strides = dense_strides(in[i].shape), to_strides = dense_strides(waiting_[i].now.shape);
    const int64_t *of = in[i].strides ? in[i].strides : strides.data(), size = size_of(in[i].dtype);
    kernels::copy_strided(size, part.rank(), part.begin(),
                          static_cast<const std::byte *>(in[i].data) + from * of[1] * size, of,
                          waiting_[i].now.data.get() + to * to_strides[1] * size, to_strides.data());
  }
}

// Where it writes its outputs.
void Stream::aim(std::span<const View> out, Frame &frame) noexcept {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    const Given &g = given_[j];
    auto *whole = static_cast<std::byte *>(out[j].data);
    frame.out[j] = !o.is_sequence                              ? whole
                   : g.is_whole && number_ * o.steps >= o.late ? whole + g.next * g.row
                                                               : parts_[j].data.get();
  }
}

// From where a tick wrote them to where they belong.
void Stream::collect(std::span<const View> out, const Frame &frame) noexcept {
  for (size_t j = 0; j < out.size(); ++j) {
    const plan::Tick::Output &o = tick_->outputs[j];
    if (!o.is_sequence) continue;
    Given &g = given_[j];
    if (o.late == 0 && g.is_whole) {
      g.next += o.steps;
      continue;
    }
    const int64_t nothing = std::clamp<int64_t>(o.late - number_ * o.steps, 0, o.steps), n = o.steps - nothing;
    if (frame.out[j] == parts_[j].data.get() && n > 0) {
      const std::byte *from = frame.out[j] + nothing * g.row;
      auto *to = static_cast<std::byte *>(out[j].data) + g.next * g.row;
      for (int64_t b = 0; b < batch_; ++b, from += o.steps * g.row, to += out[j].shape[1] * g.row)
        std::memcpy(to, from, static_cast<size_t>(n * g.row));
    }
    g.next += n;
  }
}

void Stream::run_ticks(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  const int64_t each = tick_->steps, n = steps(in), ticks = tick_->ticks(tick_->rest(taken()) + n);
  int64_t wait = tick_->rest(taken()), at = 0;  // steps that wait, steps of the inputs that have been taken
  number_ = tick_->ticks(taken());
  for (Given &g : given_) g.next = 0;
  if (ticks > 0) {
    std::optional<Executable::Ready> ready = kept_frame_->take();
    if (!ready) ready.emplace(executable_->prepare(in_, out_, cancel, true));
    Frame &frame = *ready->frame;
    kernels::SingleThreaded single;
    executable_->bind_states(*ready);
    for (size_t i = 0; i < in.size(); ++i) frame.in[i] = static_cast<std::byte *>(in[i].data);
    frame.in[in.size()] = reinterpret_cast<std::byte *>(&number_);
    for (int64_t t = 0; t < ticks; ++t) {
      if (waits()) {
        take(in, at, wait, each - wait);
        at += each - wait;
        wait = 0;
      }
      if (t > 0) ++number_;
      for (size_t i = 0; i < in.size(); ++i) {
        // bounded: a tensor that exists
        std::byte *from = static_cast<std::byte *>(in[i].data) + t * in_steps_[i].advance;
        if (in_steps_[i].is_sequence && waits())
          frame.in[i] = waiting_[i].now.data.get();
        else if (in_[i].strides)
          executable_->stage(*ready, i, in_[i], from);
        else
          frame.in[i] = from;
      }
      aim_states(frame);
      aim(out, frame);
      begin_states();
      executable_->run(*ready, cancel);
      for (Kept &k : kept_)
        if (k.next.data) std::swap(k.now, k.next);
      collect(out, frame);
    }
    if (!executable_->keeps() || !kept_frame_->put(std::move(*ready))) executable_->finish(std::move(*ready));
  }
  if (waits() && at < n) take(in, at, wait, n - at);
  finish_outputs(out, ticks);
  taken() += n;
}

void Stream::run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  const bool as_before = is_as_before(in, out);
  if (!as_before) {
    check(in);
    if (out.size() != outputs_count())
      fail(Code::invalid_argument, "expected ", outputs_count(), " outputs, got ", out.size());
  }
  if (!as_before || overlaps(in, out)) refuse_overlap(in, out);
  const int64_t n = steps(in), ticks = tick_->ticks(tick_->rest(taken()) + n);
  if (ticks > tick_->most - tick_->ticks(taken()))
    fail(Code::unsupported, "the sequence would have ", taken() + n,
         " steps, more than its attention keeps; a larger \"cache\" or \"cache_full\": \"slide\" of the session allows "
         "it");
  if (!as_before || !is_steady_) need_steps(out, n);
  if (!as_before) {
    bind(in);
    bind_outputs(out);
    if (!kept_frame_) kept_frame_ = executable_->make_kept();
    if (auto other = kept_frame_->take()) executable_->finish(std::move(*other));
    last_in_.assign(in.begin(), in.end());
    last_out_.assign(out.begin(), out.end());
  }
  keep(ticks);
  try {
    run_ticks(in, out, cancel);
  } catch (...) {
    last_in_.clear();
    put_back();
    throw;
  }
}

}  // namespace dl4::runtime
