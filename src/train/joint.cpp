// Steps on parts of batches: each part is computed alone, all are added up, and one update is made by the sum.
#include "train/joint.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.hpp"
#include "train/trainer.hpp"

namespace dl4::train {

void Joint::make_room(int64_t n, int64_t memory_limit) {
  workers.make_room();
  if (!tree.empty() && tree[0].elements() >= n) return;
  const auto sums = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(parts())));
  const int64_t bytes = checked_mul(checked_mul(n, size_of(DType::f32)), sums);
  if (bytes > memory_limit)
    fail(Code::out_of_memory, "the gradients of the parts of a batch take ", bytes, " bytes, the memory limit is ",
         memory_limit);
  tree.clear();
  for (int64_t i = 0; i < sums; ++i) tree.push_back(make_zeros(DType::f32, Shape{n}));
}

std::pair<int64_t, int64_t> Joint::rows(int64_t part) const {
  const int64_t shards = workers.shards();
  if (shards == 1) return {0, mine};
  const int64_t at = workers.rank() * parts() + part;
  return {total * at / shards - first, total * (at + 1) / shards - first};
}

void Joint::cut(int64_t rows, bool met) {
  mine = total = rows;
  first = 0;
  each = 1;
  if (!met) return;
  total = 0;
  int64_t some = 0;
  const int64_t size = workers.size(), shards = workers.shards();
  auto rows_of = [&](int64_t r) { return static_cast<int64_t>(workers.word(r).own[0]); };
  for (int64_t r = 0; r < size; ++r) {
    if (r == workers.rank()) first = total;
    total += rows_of(r);
    some += rows_of(r) > 0 ? 1 : 0;
  }
  if (total == 0) fail(Code::invalid_argument, "an empty batch");
  if (shards > 1) some = std::min(total, shards);
  for (int64_t r = 0; shards > 1 && r < size; ++r)
    if (const int64_t expected = total * (r + 1) / size - total * r / size; rows_of(r) != expected)
      fail(Code::invalid_argument, "worker ", r, " has ", rows_of(r), " of the batch's ", total, " rows, expected ",
           expected, ": \"shards\" cuts batches evenly");
  each = 1 / static_cast<float>(some);
}

namespace {

runtime::View part_of(const runtime::View &v, int64_t begin, int64_t end) {
  if (v.shape.rank() == 0) return v;
  const int64_t row = v.strides ? v.strides[0] : v.shape.elements(1, v.shape.rank());
  return {v.dtype, v.shape.with(0, end - begin), static_cast<std::byte *>(v.data) + begin * row * size_of(v.dtype),
          v.strides};
}

}  // namespace

Workers *Trainer::workers() const { return joint_ ? &joint_->workers : nullptr; }

int64_t Trainer::shards(bool with_workers) const {
  return setup_.shards.value_or(with_workers && run_.plan.cutting.strict ? 8 : 1);
}

void Trainer::set_workers(int64_t rank, int64_t size, Workers::Reduce reduce,
                          const std::function<void(Workers &)> &start) {
  const bool alone = !reduce, whole = alone && shards(false) == 1;
  auto joint = std::make_unique<Joint>(rank, size, objective_.trained().size(), std::move(reduce));
  Workers &workers = joint->workers;
  workers.jointly([&] {
    workers.cut(shards(!alone));
    if (whole) return;
    for (const auto &w : model_->held())
      if (w->spec.kept)
        fail(Code::unsupported, "\"", w->name,
             "\" is the state of a stateful layer: its batches can't be cut into parts");
    if (start) start(workers);
  });
  joint_ = whole ? nullptr : std::move(joint);
  compiled_.clear();  // Programs sum over those who were together
  last_ = SIZE_MAX;
}

Workers::Word Trainer::here(Workers::Place place, const Batch *b) const {
  Workers::Word word{.place = place};
  auto count = [&](const char *name) { return *state_.find(name)->as<int64_t>(); };
  Fnv1a columns;
  for (const auto *views : {b ? &b->y : nullptr, b ? &b->w : nullptr}) {
    if (!views) continue;
    columns.add(views->size());
    for (const runtime::View &v : *views) {
      columns.add(static_cast<uint64_t>(v.dtype));
      columns.add(static_cast<uint64_t>(2 * v.shape.rank() + (is_column(v.shape) ? 1 : 0)));
    }
  }
  const auto steps = static_cast<uint64_t>(count(kept::iterations)), draws = static_cast<uint64_t>(count(kept::draws));
  word.same = {Fnv1a().add(steps).add(draws).folded(),
               std::bit_cast<uint32_t>(*state_.find(kept::learning_rate)->as<float>()), columns.folded(),
               static_cast<uint32_t>(position.epochs_seen)};
  if (b && b->size() > INT32_MAX)
    fail(Code::invalid_argument, "a part of a batch has ", b->size(), " rows, expected at most ", INT32_MAX);
  if (b) word.own[0] = static_cast<int32_t>(b->size());
  return word;
}

bool Trainer::meet(Workers::Place place, int32_t flags) {
  if (!joint_) {
    if (flags & Workers::cancel) fail(Code::cancelled, "cancelled between two batches");
    return !(flags & Workers::stop);
  }
  Workers::Word word = here(place, nullptr);
  word.flags = flags;
  return joint_->workers.meet(word);
}

// What the Program gives for this worker's parts, into tree[0].
void Trainer::run_parts(runtime::Executable &s, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel) {
  Joint &j = *joint_;
  j.add_parts(n, [&](int64_t part, float *to) {
    const auto [begin, end] = j.rows(part);
    if (begin == end) {
      std::fill_n(to, n, 0.0f);
      j.exchange->join(s.program());
      return;
    }
    j.draws = {state_.count(kept::draws), j.first + begin, end - begin};
    j.common.back() = static_cast<float>(static_cast<double>(end - begin) / static_cast<double>(j.total));
    in_.clear();
    in_.push_back({DType::i64, {3}, j.draws.data(), nullptr});
    in_.push_back({DType::f32, {static_cast<int64_t>(j.common.size())}, j.common.data(), nullptr});
    for (const auto *views : {&b.x, &b.y, &b.w})
      for (const runtime::View &v : *views)
        if (!is_absent(v)) in_.push_back(part_of(v, begin, end));
    out_.clear();
    for (ops::Id output : s.program().outputs) {
      const ops::Value &v = s.program()[output];
      out_.push_back({DType::f32, v.shape, to, nullptr});
      to += v.shape.elements();
    }
    if (cancel) s.plan(in_, cancel);
    s.run(in_, out_);
  });
}

// The same over all workers; prepare() is what else may fail before they exchange anything.
template <class F>
void Trainer::sum_parts(runtime::Executable &s, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel,
                        F prepare) {
  Joint &j = *joint_;
  float *all = j.tree[0].as<float>();
  std::exception_ptr failure;
  j.exchange->begin();
  try {
    run_parts(s, b, n, cancel);
    prepare();
  } catch (const std::exception &) {
    failure = std::current_exception();
    std::fill_n(all, n, 0.0f);
  }
  if (failure) j.exchange->end(s.program(), failure);
  all[n] = failure ? 1 : 0;
  j.workers.sum(all, n + 1);
  if (failure) std::rethrow_exception(failure);
  if (all[n] != 0) j.workers.meet({});  // says what another one failed with
}

const Sums &Trainer::run_jointly(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel) {
  return joint_->workers.jointly([&]() -> const Sums & {
    Joint &j = *joint_;
    const bool trains = entry != Entry::evaluate;
    check(b);
    get_ready(entry);
    const auto divide = compiled(Entry::divisors, b).session;
    const Compiled &c = compiled(trains ? Entry::part : Entry::measure, b);
    const auto part = c.session;
    if (trains) last_ = static_cast<size_t>(&c - compiled_.data());
    const auto join = trains ? compiled(entry == Entry::step ? Entry::update : Entry::collect, {}).session : nullptr;
    const auto results = static_cast<int64_t>(results_.sums() - results_.losses());
    const int64_t n = trains ? layout_.size : results, losses = static_cast<int64_t>(j.common.size()) - 1;
    j.make_room(std::max(n, losses) + 1, run_.plan.memory_limit);
    float *all = j.tree[0].as<float>();

    using Place = Workers::Place;
    const Place place = entry == Entry::step         ? Place::step
                        : entry == Entry::accumulate ? Place::accumulate
                                                     : Place::evaluate;
    j.cut(b.size(), false);
    Workers::Word word = here(place, &b);
    const bool whole =
        j.workers.shards() == 1 && j.common.size() <= Workers::most_numbers && !Exchange::is_in(divide->program());
    if (whole) {
      run_parts(*divide, b, losses, cancel);
      std::copy_n(all, losses, j.common.data());
      word.numbers = std::span(j.common).first(static_cast<size_t>(losses));
    }
    if (!j.workers.meet(word)) {
      if (!fitting || entry != Entry::step) fail(Code::invalid_argument, "another worker stopped a fit");
      sums_.values.clear();
      return sums_;
    }
    j.cut(b.size(), true);
    if (!whole) {  // which rows are in which shard is known, and all are here, only now
      sum_parts(*divide, b, losses, cancel, [] {});
      std::copy_n(all, losses, j.common.data());
    }
    const runtime::View in[] = {{DType::f32, {n}, all, nullptr}, {DType::f32, {}, &j.each, nullptr}};
    sum_parts(*part, b, n, cancel, [&] {
      if (join) j.update.emplace(join->prepare(in, {}, nullptr));
    });
    if (join) {
      try {
        join->run(*j.update, in, {}, nullptr);
      } catch (Error &error) {
        in_step(error);
        throw;
      }
      join->finish(std::move(*j.update));
    }
    return told(all + (trains ? layout_.block : 0), static_cast<double>(j.total));
  });
}

}  // namespace dl4::train
