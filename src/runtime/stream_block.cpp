// Copies the rows of many streams into the block and back; rows with more steps come first.
#include "runtime/stream_block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/backend.hpp"

namespace dl4::runtime {
namespace {

// Bytes of a row of a view, and of one step of it if it is a sequence.
int64_t row_bytes(const View &v) { return checked_mul(v.shape.elements(), size_of(v.dtype)) / v.shape[0]; }

std::byte *row_of(const View &v, size_t row, int64_t bytes) {
  return static_cast<std::byte *>(v.data) + row * static_cast<size_t>(bytes);
}

void copy_bytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Copies `bytes` of rings, rotated so that position `first` becomes the first.
void turned(std::byte *to, const std::byte *from, int64_t capacity, int64_t row, int64_t first, int64_t bytes) {
  const int64_t ring = capacity * row, head = first % capacity * row;
  for (int64_t at = 0; ring > 0 && at < bytes; at += ring) {
    std::memcpy(to + at, from + at + head, static_cast<size_t>(ring - head));
    std::memcpy(to + at + ring - head, from + at, static_cast<size_t>(head));
  }
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
  const int64_t longest = block_.steps(in);
  for (size_t j = 0; j < all.size(); ++j) {
    all[j].shape = all[j].shape.with(0, static_cast<int64_t>(many.streams.size()));
    if (!block_.tick_->outputs[j].is_sequence || !block_.tick_->counts) continue;
    int64_t most = 0;
    for (size_t i = 0; i < many.streams.size(); ++i)
      most = std::max(most, many.streams[i]->comes(j, many.steps.empty() ? longest : many.steps[i]));
    all[j].shape = all[j].shape.with(1, most);
  }
  return all;
}

// Streams of batch 1 have the same layout: `state` is at the same offset in each.
template <class F>
void StreamBlock::each_part(const Run &run, size_t state, size_t first, size_t last, F f) {
  const Stream::Kept &one = run.many.streams[0]->kept_[state];
  const Shape &s = one.shape;
  const bool shared = one.batch_axis < 0;
  const int64_t outer = shared ? 1 : s.elements(0, one.batch_axis), apart = shared ? 1 : rows;
  if (outer == 0 || one.bytes == 0) return;
  const int64_t each = one.bytes / outer;
  std::byte *base = block_.now(state);
  for (size_t r = first; r < last; ++r)
    for (int64_t o = 0; o < outer; ++o)
      f(r, base + (o * apart + (shared ? 0 : static_cast<int64_t>(r))) * each, one.at + o * each, each);
}

// For tensors of streams and of the block, row by row.
template <class F>
void StreamBlock::each_held(const Run &run, std::span<const size_t> ids, F f) {
  for (auto list : {&Stream::waiting_, &Stream::last_})
    for (size_t i = 0; i < (block_.*list).size(); ++i) {
      const Tensor &all = (block_.*list)[i].now;
      if (!all.data) continue;
      const int64_t each = all.bytes() / rows;
      for (size_t r = 0; r < static_cast<size_t>(rows); ++r)
        f(r, (run.many.streams[ids[r < ids.size() ? r : 0]]->*list)[i], all.data.get() + static_cast<int64_t>(r) * each,
          each);
    }
}

// Rings of the block start where its step count says, those of a stream anywhere.
void StreamBlock::take_states(const Run &run, std::span<const size_t> ids) {
  const auto stream = [&](size_t r) -> const Stream & { return *run.many.streams[ids[r < ids.size() ? r : 0]]; };
  block_.taken_ = begin_ = stream(0).phase();
  for (size_t i = 0; i < block_.kept_.size(); ++i) {
    const Stream::Kept &k = block_.kept_[i];
    const plan::Tick::State &how = block_.tick_->states[i];
    if (!how.is_ring)
      each_part(run, i, 0, rows, [&](size_t row, std::byte *to, int64_t at, int64_t n) {
        std::memcpy(to, stream(row).now_ + at, static_cast<size_t>(n));
      });
    else
      each_part(run, i, 0, rows, [&](size_t row, std::byte *to, int64_t at, int64_t n) {
        const Stream &from = stream(row);
        const int64_t capacity = k.shape[how.axis];
        const int64_t ahead = block_.first_place(i, from.taken_) - block_.first_place(i, begin_);
        turned(to, from.rings_ + at, capacity, k.row, ahead + capacity, n);
      });
  }
  each_held(run, ids, [](size_t, const Stream::Held &from, std::byte *to, int64_t n) {
    std::memcpy(to, from.now.data.get(), static_cast<size_t>(n));
  });
}

// Stores the new states, to be used after the turn.
void StreamBlock::give_states(const Run &run, std::span<const size_t> ids, size_t first) {
  const auto stream = [&](size_t r) -> Stream & { return *run.many.streams[ids[r]]; };
  const int64_t before = block_.tick_->ticks(begin_), ticks = block_.tick_->ticks(block_.taken_) - before;
  bool whole = false;  // whole rings; otherwise only new positions are written, which no stream reads before its turn
  for (const plan::Tick::State &how : block_.tick_->states) {
    const bool begins = how.begin > 0 && how.begin >= before && how.begin < before + ticks;
    whole |= how.is_ring && (begins || block_.writes_over(how, ticks));
  }
  for (size_t r = first; r < ids.size(); ++r) {
    Stream &to = stream(r);
    to.turns_ = block_.taken_ - begin_;
    to.turns_rings_ = whole;
    if (!whole || to.spare_) continue;
    to.spare_ = allocate(to.rings_bytes_);
    to.spare_rings_ = to.spare_.get();
  }
  for (size_t i = 0; i < block_.kept_.size(); ++i) {
    const plan::Tick::State &how = block_.tick_->states[i];
    const Stream::Kept &k = block_.kept_[i];
    if (!how.is_ring) {
      each_part(run, i, first, ids.size(), [&](size_t row, const std::byte *from, int64_t at, int64_t n) {
        std::memcpy(stream(row).next_ + at, from, static_cast<size_t>(n));
      });
      continue;
    }
    const int64_t capacity = k.shape[how.axis], rows_written = checked_mul(ticks, how.rows);
    const int64_t source = block_.first_place(i, begin_);
    each_part(run, i, first, ids.size(), [&](size_t row, const std::byte *from, int64_t at, int64_t n) {
      Stream &to = stream(row);
      const int64_t begin = block_.first_place(i, to.taken_);
      if (whole) return turned(to.spare_rings_ + at, from, capacity, k.row, source - begin + capacity, n);
      for (int64_t o = 0; o < n; o += capacity * k.row)
        for (int64_t done = 0, part = 0; done < rows_written; done += part) {
          const int64_t there = (begin + done) & (capacity - 1), here = (source + done) & (capacity - 1);
          part = std::min({rows_written - done, capacity - there, capacity - here});
          copy_bytes(to.rings_ + at + o + there * k.row, from + o + here * k.row, part * k.row);
        }
    });
  }
  each_held(run, ids, [&](size_t row, Stream::Held &to, const std::byte *from, int64_t n) {
    if (row >= first && row < ids.size()) std::memcpy(to.before.data.get(), from, static_cast<size_t>(n));
  });
}

// Fills the block's rows. Rows that ended or are unused repeat the first row, which has most steps, so no kernel
// reports a fault that the stream's own data does not have.
void StreamBlock::gather(const Run &run, std::span<const size_t> ids) {
  const int64_t longest = run.steps(ids[0]);
  in_.resize(run.in.size());
  for (size_t i = 0; i < run.in.size(); ++i) {
    const View &v = run.in[i];
    const bool sequence = block_.tick_->sequences[i];
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
  take_states(run, ids);
}

void StreamBlock::scatter(const Run &run, std::span<const size_t> ids, int64_t begin, int64_t end) {
  for (size_t j = 0; j < run.out.size(); ++j) {
    const View &v = run.out[j];
    const bool sequence = block_.tick_->outputs[j].is_sequence;
    const int64_t from = out_[j].bytes() / rows, to = row_bytes(v);
    const plan::Tick &tick = *block_.tick_;
    const int64_t given = tick.given(j, begin_ + begin) - tick.given(j, begin_);
    const int64_t at = sequence && to > 0 ? checked_mul(given, to / v.shape[1]) : 0;
    for (size_t r = 0; r < ids.size(); ++r)
      if (sequence || run.steps(ids[r]) == end)
        copy_bytes(row_of(v, ids[r], to) + at, out_[j].data.get() + r * static_cast<size_t>(from), from);
  }
  size_t ended = ids.size();  // the following have the same number of steps
  while (ended > 0 && run.steps(ids[ended - 1]) == end) --ended;
  give_states(run, ids, ended);
}

void StreamBlock::run_as_they_lie(const Run &run, std::span<const size_t> ids, const std::atomic<int32_t> *cancel) {
  const auto views = [&](std::span<const View> all, std::vector<View> &to) {
    to.assign(all.begin(), all.end());
    for (View &v : to) {
      v.data = row_of(v, ids[0], row_bytes(v));
      v.shape = v.shape.with(0, rows);
    }
  };
  views(run.in, in_views_);
  views(run.out, out_views_);
  take_states(run, ids);
  block_.run(in_views_, out_views_, cancel);
  give_states(run, ids, 0);
}

// Whether the streams fill the block, are adjacent, and an output has all their steps.
bool StreamBlock::all_steps_of(const Run &run, std::span<const size_t> ids) const {
  if (!run.many.steps.empty() || ids.size() != rows) return false;
  for (size_t r = 1; block_.tick_->counts && r < ids.size(); ++r)  // otherwise they are unsorted
    if (ids[r] != ids[0] + r) return false;
  for (size_t j = 0; j < run.out.size(); ++j)
    if (block_.tick_->outputs[j].is_sequence &&
        run.many.streams[ids[0]]->comes(j, run.longest) != run.out[j].shape.begin()[1])
      return false;
  return true;
}

void StreamBlock::run_rows(const Run &run, std::span<const size_t> ids, const std::atomic<int32_t> *cancel) {
  for (const size_t id : ids) run.many.streams[id]->own();
  if (all_steps_of(run, ids)) return run_as_they_lie(run, ids, cancel);
  const int64_t longest = run.steps(ids[0]);
  gather(run, ids);
  std::vector<View> in(in_.size()), out(run.out.size());
  std::vector<std::array<int64_t, max_rank>> strides(in_.size());
  out_.resize(out.size());
  // Runs as far as the shortest of the remaining streams.
  for (int64_t begin = 0, end = 0; begin < longest; begin = end) {
    while (run.steps(ids.back()) <= begin) ids = ids.first(ids.size() - 1);
    end = run.steps(ids.back());
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = {in_[i].dtype, in_[i].shape, in_[i].data.get()};
      if (!block_.tick_->sequences[i] || end - begin == longest) continue;
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
  check_count(out, expected.size());
  std::vector<View> dense(in.begin(), in.end());
  std::vector<Tensor> copies;
  for (size_t j = 0; j < out.size(); ++j) {
    check_dense(j, out[j]);
    check_output(j, out[j], expected[j].dtype, expected[j].shape);
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
  }
  const bool counts = block_.tick_->counts;
  if (counts || !many.steps.empty())
    for (const View &v : out) std::memset(v.data, 0, static_cast<size_t>(checked_mul(row_bytes(v), v.shape[0])));
  std::span<size_t> left = order_;
  while (!left.empty() && run.steps(left.back()) == 0) left = left.first(left.size() - 1);
  const auto phase = [&](size_t id) { return many.streams[id]->phase(); };
  if (counts) std::ranges::stable_sort(left, {}, phase);
  const std::span<const size_t> all = left;
  // So many rows ahead, the deepest pointers last.
  const auto read_ahead = [&](size_t from, size_t apart) {
    for (int depth = 0; depth < Stream::depths; ++depth) {
      // bounded: number of streams plus a few
      const size_t begin = from + static_cast<size_t>(Stream::depths - depth) * apart;
      for (size_t i = begin; i < std::min(all.size(), begin + apart); ++i) many.streams[all[i]]->read_ahead(depth);
    }
  };
  for (size_t at = 0, end = 0; at < all.size(); at = end) {
    read_ahead(at, rows);
    end = std::min<size_t>(all.size(), at + rows);
    while (counts && phase(all[end - 1]) != phase(all[at])) --end;
    run_rows(run, all.subspan(at, end - at), cancel);
  }
  constexpr size_t apart = 8;
  for (size_t at = 0; at < all.size(); ++at) {
    if (at % apart == 0) read_ahead(at, apart);
    Stream &s = *many.streams[all[at]];
    std::swap(s.now_, s.next_);
    if (s.turns_rings_) std::swap(s.rings_, s.spare_rings_);
    s.taken_ += std::exchange(s.turns_, 0);
    if (!block_.waits()) continue;
    for (auto *list : {&s.waiting_, &s.last_})
      for (Stream::Held &h : *list) std::swap(h.now, h.before);
  }
}

}  // namespace dl4::runtime
