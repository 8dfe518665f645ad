#include "train/steps/joint.hpp"

#include <bit>

#include "base/hash.hpp"

namespace dl4::train {
namespace {

Workers::Place place_of(Task task) {
  return task == Task::step         ? Workers::Place::step
         : task == Task::accumulate ? Workers::Place::accumulate
                                    : Workers::Place::evaluate;
}

runtime::View part_of(const runtime::View &v, int64_t begin, int64_t end) {
  if (v.shape.rank() == 0) return v;
  const int64_t row = v.strides ? v.strides[0] : v.shape.elements(1, v.shape.rank());
  return {v.dtype, v.shape.with(0, end - begin), static_cast<std::byte *>(v.data) + begin * row * size_of(v.dtype),
          v.strides};
}

}  // namespace

Workers::Word word_at(const Training &t, Workers::Place place, const Batch *b) {
  Workers::Word word{.place = place};
  Fnv1a columns;
  for (const auto *views : {b ? &b->y : nullptr, b ? &b->w : nullptr}) {
    if (!views) continue;
    columns.add(views->size());
    for (const runtime::View &v : *views) columns.add(static_cast<uint64_t>(reading(v)));
  }
  const auto steps = static_cast<uint64_t>(t.state.count(kept::iterations)),
             draws = static_cast<uint64_t>(t.state.count(kept::draws));
  word.same = {Fnv1a().add(steps).add(draws).folded(), std::bit_cast<uint32_t>(t.state.learning_rate()),
               columns.folded(), static_cast<uint32_t>(t.position.epochs_seen)};
  if (b && b->size() > INT32_MAX)
    fail(Code::invalid_argument, "a part of a batch has ", b->size(), " rows, expected at most ", INT32_MAX);
  if (b) word.own[0] = static_cast<int32_t>(b->size());
  return word;
}

Joint::Joint(Training &t, Workers &workers)
    : Steps(t),
      workers_(workers),
      exchange_(std::make_shared<Exchange>(workers)),
      divisors_(t.objective.trained().size() + 1) {
  // Shards are computed in sequence: none can wait within a run for the sums of the next.
  if (workers.shards() == 1) parts_.exchange = exchange_;
}

void Joint::make_room(int64_t n) {
  workers_.make_room();
  ++n;
  if (!tree_.empty() && tree_[0].elements() >= n) return;
  const auto sums = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(count())));
  const int64_t bytes = checked_mul(checked_mul(n, size_of(DType::f32)), sums);
  if (bytes > t_.run.plan.memory_limit)
    fail(Code::out_of_memory, "the gradients of the parts of a batch take ", bytes, " bytes, the memory limit is ",
         t_.run.plan.memory_limit);
  tree_.clear();
  for (int64_t i = 0; i < sums; ++i) tree_.push_back(make_zeros(DType::f32, Shape{n}));
}

std::pair<int64_t, int64_t> Joint::rows(int64_t part) const {
  const int64_t shards = workers_.shards();
  if (shards == 1) return {0, mine_};
  const int64_t at = workers_.rank() * count() + part;
  return {total_ * at / shards - first_, total_ * (at + 1) / shards - first_};
}

void Joint::cut(int64_t rows, bool met) {
  mine_ = total_ = rows;
  first_ = 0;
  each_ = 1;
  if (!met) return;
  total_ = 0;
  int64_t some = 0;
  const int64_t size = workers_.size(), shards = workers_.shards();
  auto rows_of = [&](int64_t r) { return static_cast<int64_t>(workers_.word(r).own[0]); };
  for (int64_t r = 0; r < size; ++r) {
    if (r == workers_.rank()) first_ = total_;
    total_ += rows_of(r);
    some += rows_of(r) > 0 ? 1 : 0;
  }
  if (total_ == 0) fail(Code::invalid_argument, "an empty batch");
  if (shards > 1) some = std::min(total_, shards);
  for (int64_t r = 0; shards > 1 && r < size; ++r)
    if (const int64_t expected = total_ * (r + 1) / size - total_ * r / size; rows_of(r) != expected)
      fail(Code::invalid_argument, "worker ", r, " has ", rows_of(r), " of the batch's ", total_, " rows, expected ",
           expected, ": \"shards\" cuts batches evenly");
  each_ = 1 / static_cast<float>(some);
}

template <class F>
void Joint::add_up(int64_t n, F fill) {
  size_t depth = 0;
  for (int64_t i = 0; i < count(); ++i) {
    fill(i, tree_[depth++].as<float>());
    for (int64_t k = i + 1; k % 2 == 0; k /= 2, --depth)
      Workers::add(tree_[depth - 1].as<float>(), tree_[depth - 2].as<float>(), n);
  }
}

void Joint::compute(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel) {
  add_up(n, [&](int64_t part, float *to) {
    const auto [begin, end] = rows(part);
    if (begin == end) {
      std::fill_n(to, n, 0.0f);
      exchange_->join(e.program());
      return;
    }
    draws_ = {t_.state.count(kept::draws), first_ + begin, end - begin};
    divisors_.back() = static_cast<float>(static_cast<double>(end - begin) / static_cast<double>(total_));
    in_.clear();
    in_.push_back({DType::i64, {3}, draws_.data()});
    in_.push_back({DType::f32, {losses() + 1}, divisors_.data()});
    for (const auto *views : {&b.x, &b.y, &b.w})
      for (const runtime::View &v : *views)
        if (!is_absent(v)) in_.push_back(part_of(v, begin, end));
    bind_outputs(e.program(), to);
    e.run(in_, out_, cancel);
  });
}

template <class F>
void Joint::reduce(runtime::Executable &e, const Batch &b, int64_t n, const std::atomic<int32_t> *cancel, F prepare) {
  float *all = sum();
  std::exception_ptr failure;
  exchange_->begin();
  try {
    compute(e, b, n, cancel);
    prepare();
  } catch (const std::exception &) {
    failure = std::current_exception();
    std::fill_n(all, n, 0.0f);
  }
  if (failure) exchange_->end(e.program(), failure);
  all[n] = failure ? 1 : 0;
  workers_.sum(all, n + 1);
  if (failure) std::rethrow_exception(failure);
  if (all[n] != 0) workers_.meet({});  // throws the other worker's error
}

bool Joint::divide(runtime::Executable &e, Task task, const Batch &b, const std::atomic<int32_t> *cancel) {
  cut(b.size(), false);
  Workers::Word word = word_at(t_, place_of(task), &b);
  const bool whole =
      workers_.shards() == 1 && divisors_.size() <= Workers::most_numbers && !Exchange::is_in(e.program());
  if (whole) {
    compute(e, b, losses(), cancel);
    std::copy_n(sum(), losses(), divisors_.data());
    word.numbers = std::span(divisors_).first(static_cast<size_t>(losses()));
  }
  if (!workers_.meet(word)) return false;
  cut(b.size(), true);
  if (whole) return true;
  reduce(e, b, losses(), cancel, [] {});  // Only now are all workers here, and the shards' rows known.
  std::copy_n(sum(), losses(), divisors_.data());
  return true;
}

const Sums &Joint::run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) {
  return workers_.jointly([&]() -> const Sums & {
    const bool trains = task != Task::evaluate;
    t_.check(b, true);
    t_.get_ready(task);
    const auto executable = [&](const Routine &r, const Batch &of) {
      return t_.compiled(r, of, &parts_).executable.get();
    };
    runtime::Executable *divisors = executable(routines::divide, b),
                        *part = executable(trains ? routines::compute : routines::measure, b), *update = nullptr;
    if (trains) update = executable(task == Task::step ? routines::update : routines::collect, {});
    const int64_t n = trains ? parts_.layout.size : static_cast<int64_t>(t_.results.measured());
    make_room(std::max(n, losses()));
    if (!divide(*divisors, task, b, cancel)) {
      if (!t_.fitting || task != Task::step) fail(Code::invalid_argument, "another worker stopped a fit");
      sums_.values.clear();
      return sums_;
    }
    const runtime::View in[] = {{DType::f32, {n}, sum()}, {DType::f32, {}, &each_}};
    reduce(*part, b, n, cancel, [&] {
      if (update) update_.emplace(update->prepare(in, {}, nullptr));
    });
    if (update) {
      t_.in_step([&] { update->run(*update_, in, {}, nullptr); });
      update->finish(std::move(*update_));
    }
    t_.results.add_up(sum() + (trains ? parts_.layout.block : 0), static_cast<double>(total_), sums_);
    return sums_;
  });
}

}  // namespace dl4::train
