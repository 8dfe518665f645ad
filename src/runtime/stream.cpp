// A step's part of what a run is given, and the turn of the states.
#include "runtime/stream.hpp"

#include <algorithm>
#include <cstring>

namespace dl4::runtime {

Stream::Stream(std::shared_ptr<Executable> executable, size_t states, int64_t batch)
    : executable_(std::move(executable)), batch_(batch) {
  const ops::Program &p = executable_->program();
  const size_t first = p.inputs.size() - states;
  int64_t bytes = 0;
  for (size_t i = first; i < p.inputs.size(); ++i) {
    Shape shape = p[p.inputs[i]].shape;
    if (shape[0] != free_dim && shape[0] != batch_)
      fail(Code::shape_mismatch, "\"batch\": expected ", shape[0], ", of which \"", p[p.inputs[i]].name, "\" is, got ",
           batch_);
    shape = shape.with(0, batch_);
    bytes = checked_add(bytes, checked_mul(3, checked_mul(shape.elements(), size_of(DType::f32))));
    executable_->need_room(bytes);
    for (auto *list : {&now_, &next_, &before_}) list->push_back(make_zeros(DType::f32, shape));
  }
  in_.resize(p.inputs.size());
  out_.resize(p.outputs.size());
  in_strides_.resize(inputs());
  parts_.resize(outputs_count());
  for (size_t i = 0; i < inputs(); ++i) in_steps_.push_back({is_sequence(p[p.inputs[i]].shape)});
  for (size_t j = 0; j < outputs_count(); ++j) out_steps_.push_back({is_sequence(p[p.outputs[j]].shape)});
}

void Stream::reset() {
  for (Tensor &t : now_) std::ranges::fill(t.memory(), std::byte{0});
}

void Stream::reset(int64_t row) {
  for (Tensor &t : now_) {
    const int64_t bytes = t.bytes() / batch_;
    std::memset(t.data.get() + checked_mul(row, bytes), 0, static_cast<size_t>(bytes));
  }
}

Stream Stream::fork() const {
  Stream other(executable_, now_.size(), batch_);
  for (size_t i = 0; i < now_.size(); ++i) std::ranges::copy(now_[i].memory(), other.now_[i].data.get());
  return other;
}

void Stream::take_row(int64_t row, const Stream &from) {
  for (size_t i = 0; i < now_.size(); ++i) {
    const auto state = from.now_[i].memory();
    std::memcpy(now_[i].data.get() + static_cast<size_t>(row) * state.size(), state.data(), state.size());
  }
}

void Stream::give_row(int64_t row, Stream &to) const {
  for (size_t i = 0; i < now_.size(); ++i) {
    const auto state = to.next_[i].memory();
    std::memcpy(state.data(), now_[i].data.get() + static_cast<size_t>(row) * state.size(), state.size());
  }
}

const std::string &Stream::name(size_t i) const {
  const ops::Program &p = executable_->program();
  return p[p.inputs[inputs() + i]].name;
}

int64_t Stream::steps(std::span<const View> in) const {
  for (size_t i = 0; i < in.size(); ++i)
    if (in_steps_[i].is_sequence) return in[i].shape[1];
  return 0;
}

void Stream::check(std::span<const View> in, int64_t batch) const {
  const ops::Program &p = executable_->program();
  if (in.size() != inputs()) fail(Code::invalid_argument, "expected ", inputs(), " inputs, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const ops::Value &v = p[p.inputs[i]];
    if (in[i].dtype != v.dtype || !compatible(in[i].shape, v.shape) || in[i].shape.rank() == 0 ||
        in[i].shape[0] != batch)
      fail(Code::shape_mismatch, "input \"", v.name, "\": expected ", v.dtype, ' ',
           v.shape.rank() ? v.shape.with(0, batch) : v.shape, ", got ", in[i].dtype, ' ', in[i].shape);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in_steps_[i].is_sequence) continue;
    if (const int64_t n = steps(in); in[i].shape[1] != n || n < 1)
      fail(Code::shape_mismatch, "input \"", p[p.inputs[i]].name, "\": expected ",
           n < 1 ? std::string("at least 1 step") : text(n, " steps as of the inputs before it"), ", got ",
           in[i].shape[1]);
  }
}

// The views of the first step. One of a sequence has the strides of the whole: those of a batch of 1 say nothing.
void Stream::bind(std::span<const View> in) {
  for (size_t i = 0; i < in.size(); ++i) {
    View &v = in_[i] = in[i];
    if (!in_steps_[i].is_sequence) continue;
    const Shape &whole = in[i].shape;
    auto &strides = in_strides_[i];
    if (in[i].strides)
      std::copy_n(in[i].strides, whole.rank(), strides.begin());
    else
      strides = dense_strides(whole);
    v.shape = whole.with(1, 1);
    v.strides = in[i].strides || batch_ > 1 ? strides.data() : nullptr;
    in_steps_[i].advance = strides[1] * size_of(v.dtype);  // bounded: a tensor that exists
  }
  for (size_t i = 0; i < now_.size(); ++i) {
    in_[in.size() + i] = {DType::f32, now_[i].shape, now_[i].data.get()};
    out_[outputs_count() + i] = {DType::f32, next_[i].shape, next_[i].data.get()};
  }
}

std::vector<ops::Operand> Stream::outputs(std::span<const View> in, const std::atomic<int32_t> *cancel) {
  check(in);
  bind(in);
  const int64_t n = steps(in);
  std::vector<ops::Operand> all = executable_->outputs(in_, cancel);
  all.resize(outputs_count());
  for (size_t i = 0; i < all.size(); ++i)
    if (out_steps_[i].is_sequence) all[i].shape = all[i].shape.with(1, n);
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

void Stream::bind_outputs(std::span<const View> out, int64_t steps) {
  const ops::Program &p = executable_->program();
  for (size_t j = 0; j < out.size(); ++j) {
    if (out[j].strides) fail(Code::unsupported, "output ", j, ": expected a dense tensor, got a strided one");
    View &v = out_[j] = out[j];
    if (!out_steps_[j].is_sequence) continue;
    if (v.shape.rank() != p[p.outputs[j]].shape.rank() || v.shape[1] != steps)
      fail(Code::shape_mismatch, "output ", j, ": expected ", steps, " steps, got shape ", v.shape);
    v.shape = v.shape.with(1, 1);
    if (batch_ == 1) {
      out_steps_[j].advance = checked_mul(v.shape.elements(), size_of(v.dtype));
    } else {
      if (parts_[j].shape != v.shape) parts_[j] = make_tensor(v.dtype, v.shape);
      v.data = parts_[j].data.get();
    }
  }
}

// From a step to the next one.
void Stream::advance() {
  for (size_t i = 0; i < in_steps_.size(); ++i)
    in_[i].data = static_cast<std::byte *>(in_[i].data) + in_steps_[i].advance;  // bounded: a tensor that exists
  for (size_t j = 0; j < out_steps_.size(); ++j)
    out_[j].data = static_cast<std::byte *>(out_[j].data) + out_steps_[j].advance;
  for (size_t i = 0; i < now_.size(); ++i) {
    in_[in_steps_.size() + i].data = now_[i].data.get();
    out_[out_steps_.size() + i].data = next_[i].data.get();
  }
}

void Stream::run(std::span<const View> in, std::span<const View> out, const std::atomic<int32_t> *cancel) {
  check(in);
  if (out.size() != outputs_count())
    fail(Code::invalid_argument, "expected ", outputs_count(), " outputs, got ", out.size());
  refuse_overlap(in, out);
  const int64_t n = steps(in);
  bind(in);
  bind_outputs(out, n);
  ran_many_ = n > 1;
  for (size_t i = 0; ran_many_ && i < now_.size(); ++i) std::ranges::copy(now_[i].memory(), before_[i].data.get());
  try {
    Executable::Ready ready = executable_->prepare(in_, out_, cancel);
    for (int64_t step = 0; step < n; ++step) {
      if (step > 0) advance();
      executable_->run(ready, in_, out_, cancel);
      std::swap(now_, next_);
      if (batch_ > 1) write_back(out, step);
    }
    executable_->finish(std::move(ready));
  } catch (...) {
    if (ran_many_) std::swap(now_, before_);
    throw;
  }
}

void Stream::write_back(std::span<const View> out, int64_t step) {
  for (size_t j = 0; j < out.size(); ++j) {
    if (!out_steps_[j].is_sequence) continue;
    const int64_t bytes = parts_[j].bytes() / batch_, row = checked_mul(bytes, out[j].shape[1]);
    auto *to = static_cast<std::byte *>(out[j].data) + checked_mul(step, bytes);
    const std::byte *from = parts_[j].data.get();
    for (int64_t b = 0; b < batch_; ++b, from += bytes, to += row) std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace dl4::runtime
