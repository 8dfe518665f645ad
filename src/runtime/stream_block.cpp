// Rows of a run of many are copied into the block and back; those that take more steps come first.
#include "runtime/stream_block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/cpu/kernels/movement/movement.hpp"

namespace dl4::runtime {
namespace {

// Of a row of a view, and of a step of it if it is a sequence.
int64_t row_bytes(const View &v) { return checked_mul(v.shape.elements(), size_of(v.dtype)) / v.shape[0]; }

std::byte *row_of(const View &v, size_t row, int64_t bytes) {
  return static_cast<std::byte *>(v.data) + row * static_cast<size_t>(bytes);
}

void copy_bytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

const Tensor &shaped(Tensor &t, DType dtype, const Shape &shape) {
  if (!t.data || t.dtype != dtype || t.shape != shape) t = make_tensor(dtype, shape);
  return t;
}

}  // namespace

struct StreamBlock::Run {
  const Many &many;
  std::span<const View> in, out;  // dense
  int64_t longest;                // steps of the sequences
  int64_t steps(size_t id) const { return many.steps.empty() ? longest : many.steps[id]; }
};

void StreamBlock::check(const Many &many, std::span<const View> in) const {
  block_.need_rows_apart();
  block_.check(in, static_cast<int64_t>(many.streams.size()));
  if (many.steps.empty()) return;
  const int64_t longest = block_.steps(in);
  for (size_t i = 0; i < many.steps.size(); ++i)
    if (many.steps[i] < 0 || many.steps[i] > longest)
      fail(Code::shape_mismatch, "steps[", i, "]: expected 0 to ", longest, " as the inputs have, got ", many.steps[i]);
}

std::vector<ops::Operand> StreamBlock::outputs(const Many &many, std::span<const View> in,
                                               const std::atomic<int32_t> *cancel) {
  std::vector<View> of_block(in.begin(), in.end());
  for (View &v : of_block) v = {v.dtype, v.shape.with(0, rows)};
  std::vector<ops::Operand> all = block_.outputs(of_block, cancel);
  for (ops::Operand &o : all) o.shape = o.shape.with(0, static_cast<int64_t>(many.streams.size()));
  return all;
}

// The rows of the block. What has ended or is not taken repeats the first row, which has the most steps: no kernel
// finds a fault there that the stream's own data does not have.
void StreamBlock::gather(const Run &run, std::span<const size_t> ids) {
  const int64_t longest = run.steps(ids[0]);
  in_.resize(run.in.size());
  for (size_t i = 0; i < run.in.size(); ++i) {
    const View &v = run.in[i];
    const bool sequence = block_.in_steps_[i].is_sequence;
    const Shape shape = v.shape.with(0, rows);
    const Tensor &t = shaped(in_[i], v.dtype, sequence ? shape.with(1, longest) : shape);
    const int64_t from = row_bytes(v), step = sequence ? from / v.shape[1] : 0;
    const int64_t bytes = sequence ? checked_mul(step, longest) : from;
    for (size_t r = 0; r < rows; ++r) {
      std::byte *to = t.data.get() + r * static_cast<size_t>(bytes);
      const bool taken = r < ids.size();
      const int64_t own = !taken ? 0 : sequence ? checked_mul(step, run.steps(ids[r])) : bytes;
      copy_bytes(to, row_of(v, taken ? ids[r] : ids[0], from), own);
      copy_bytes(to + own, row_of(v, ids[0], from) + own, bytes - own);
    }
  }
  for (size_t r = 0; r < rows; ++r)
    block_.take_row(static_cast<int64_t>(r), *run.many.streams[ids[r < ids.size() ? r : 0]]);
}

void StreamBlock::scatter(const Run &run, std::span<const size_t> ids, int64_t begin, int64_t end) {
  for (size_t j = 0; j < run.out.size(); ++j) {
    const View &v = run.out[j];
    const plan::Tick::Output &o = block_.tick_->outputs[j];
    const bool sequence = o.is_sequence;
    const int64_t from = out_[j].bytes() / rows, to = row_bytes(v);
    const int64_t at = sequence && to > 0 ? checked_mul(begin, o.steps, to / v.shape[1]) : 0;
    for (size_t r = 0; r < ids.size(); ++r)
      if (sequence || run.steps(ids[r]) == end)
        copy_bytes(row_of(v, ids[r], to) + at, out_[j].data.get() + r * static_cast<size_t>(from), from);
  }
  for (size_t r = 0; r < ids.size(); ++r)
    if (run.steps(ids[r]) == end) block_.give_row(static_cast<int64_t>(r), *run.many.streams[ids[r]]);
}

void StreamBlock::run_rows(const Run &run, std::span<const size_t> ids, const std::atomic<int32_t> *cancel) {
  const int64_t longest = run.steps(ids[0]);
  gather(run, ids);
  std::vector<View> in(in_.size()), out(run.out.size());
  std::vector<std::array<int64_t, max_rank>> strides(in_.size());
  out_.resize(out.size());
  // As far as the shortest of those that still run.
  for (int64_t begin = 0, end = 0; begin < longest; begin = end) {
    while (run.steps(ids.back()) <= begin) ids = ids.first(ids.size() - 1);
    end = run.steps(ids.back());
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = {in_[i].dtype, in_[i].shape, in_[i].data.get()};
      if (!block_.in_steps_[i].is_sequence || end - begin == longest) continue;
      strides[i] = dense_strides(in_[i].shape);
      in[i].strides = strides[i].data();
      in[i].shape = in_[i].shape.with(1, end - begin);
      in[i].data = in_[i].data.get() + checked_mul(begin, checked_mul(strides[i][1], size_of(in_[i].dtype)));
    }
    const std::vector<ops::Operand> expected = block_.outputs(in, cancel);
    for (size_t j = 0; j < out.size(); ++j) {
      const Tensor &t = shaped(out_[j], expected[j].dtype, expected[j].shape);
      out[j] = {t.dtype, t.shape, t.data.get()};
    }
    block_.run(in, out, cancel);
    scatter(run, ids, begin, end);
  }
}

void StreamBlock::run(const Many &many, std::span<const View> in, std::span<const View> out,
                      const std::atomic<int32_t> *cancel) {
  check(many, in);
  const std::vector<ops::Operand> expected = outputs(many, in, cancel);
  if (out.size() != expected.size())
    fail(Code::invalid_argument, "expected ", expected.size(), " outputs, got ", out.size());
  std::vector<View> dense(in.begin(), in.end());
  std::vector<Tensor> copies;
  for (size_t j = 0; j < out.size(); ++j) {
    if (out[j].strides) fail(Code::unsupported, "output ", j, ": expected a dense tensor, got a strided one");
    if (out[j].dtype != expected[j].dtype || out[j].shape != expected[j].shape)
      fail(Code::shape_mismatch, "output ", j, ": expected ", expected[j].dtype, ' ', expected[j].shape, ", got ",
           out[j].dtype, ' ', out[j].shape);
  }
  block_.refuse_overlap(in, out);
  for (View &v : dense) {
    if (!v.strides) continue;
    const Tensor &t = copies.emplace_back(make_tensor(v.dtype, v.shape));
    kernels::copy_strided(size_of(v.dtype), v.shape.rank(), v.shape.begin(), v.data, v.strides, t.data.get(),
                          dense_strides(v.shape).data());
    v = {v.dtype, v.shape, t.data.get()};
  }
  const Run run{many, dense, out, block_.steps(in)};
  order_.resize(many.streams.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (!many.steps.empty()) {
    std::ranges::stable_sort(order_, std::greater(), [&](size_t id) { return many.steps[id]; });
    for (const View &v : out) std::memset(v.data, 0, static_cast<size_t>(checked_mul(row_bytes(v), v.shape[0])));
  }
  std::span<const size_t> left = order_;
  while (!left.empty() && run.steps(left.back()) == 0) left = left.first(left.size() - 1);
  const std::span<const size_t> all = left;
  // So many rows before they take part, the deepest last.
  const auto read_ahead = [&](size_t from, size_t apart) {
    for (int depth = 0; depth < Stream::depths; ++depth) {
      // bounded: of streams that there are, and a few behind them
      const size_t begin = from + static_cast<size_t>(Stream::depths - depth) * apart;
      for (size_t i = begin; i < std::min(all.size(), begin + apart); ++i) many.streams[all[i]]->read_ahead(depth);
    }
  };
  for (size_t at = 0; at < all.size(); at += rows) {
    read_ahead(at, rows);
    run_rows(run, all.subspan(at, std::min<size_t>(rows, all.size() - at)), cancel);
  }
  constexpr size_t apart = 8;
  for (size_t at = 0; at < all.size(); ++at) {
    if (at % apart == 0) read_ahead(at, apart);
    many.streams[all[at]]->turn();
  }
}

}  // namespace dl4::runtime
