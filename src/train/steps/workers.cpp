// Communication of workers, and how an error on one reaches all.
#include "train/steps/workers.hpp"

#include <bit>
#include <cerrno>

#include "base/float_mode.hpp"

namespace dl4::train {
namespace {

constexpr int64_t bucket = (2 << 20) / 4;  // numbers per message
constexpr size_t message_words = 128;
// Layout of a row: error code, place, flags, words, numbers.
constexpr size_t first_number = 3 + Workers::same_words + Workers::own_words;
constexpr size_t row_words = first_number + Workers::most_numbers;

const char *name(Workers::Place place) {
  constexpr const char *names[] = {"nowhere",         "its start",     "its start",       "a step",
                                   "an accumulation", "an evaluation", "the end of data", "the start of an epoch",
                                   "the end of a fit"};
  static_assert(std::size(names) == static_cast<size_t>(Workers::Place::fit_end) + 1);
  return names[static_cast<size_t>(place)];
}

// Meaning of a word at a place, for messages.
const char *name(Workers::Place place, size_t word) {
  constexpr const char *start[] = {"version of the library or type of processor", "options", "model", "checkpoint"};
  constexpr const char *other[] = {"number of steps done", "learning rate", "kinds of targets and sample weights",
                                   "number of epochs done"};
  return place == Workers::Place::start ? start[word] : other[word];
}

}  // namespace

Workers::Workers(int64_t rank, int64_t size, Reduce reduce) : rank_(rank), size_(size), reduce_(std::move(reduce)) {
  if (size < 1 || size > 1 << 16) fail(Code::invalid_argument, "workers: expected from 1 to 65536, got ", size);
  if (rank < 0 || rank >= size)
    fail(Code::invalid_argument, "the rank of a worker: expected at least 0 and less than ", size, ", got ", rank);
  words_.resize(static_cast<size_t>(size));
  rows_.resize(words_.size() * row_words);
  message_.resize(message_words);
}

void Workers::cut(int64_t shards) {
  if (!std::has_single_bit(static_cast<uint64_t>(shards)))
    kinds::refuse_attribute("shards", "expected a power of two, got ", shards);
  if (shards > 1 && shards % size_ != 0)
    throw Error(Code::invalid_argument,
                text("workers: expected a number that divides \"shards\", which is ", shards, ", got ", size_))
        .with("attribute", "shards");
  shards_ = shards;
}

void Workers::make_room() {
  if (shards_ > 1 && size_ > 1 && !slots_.data) slots_ = make_tensor(DType::i32, Shape{std::max(bucket, size_)});
}

void Workers::reduce(void *values, int64_t n, DType dtype) {
  if (size_ == 1) return;
  told_ = true;  // on any failure the other workers learn it from their own reduction
  if (apart_) fail(Code::callback_failed, "the workers are out of step since a reduction failed: set them again");
  if (const int32_t answer = reduce_(values, n, dtype)) {
    apart_ = true;
    const char *words = answer == -EPIPE       ? ": a worker died or left"
                        : answer == -ETIMEDOUT ? ": a worker did not come in time"
                                               : "";
    throw Error(Code::callback_failed, text("the workers' reduction gave ", answer, words))
        .with("answer", std::to_string(answer));
  }
  told_ = false;
}

void Workers::gather(std::span<int32_t> rows) {
  const size_t each = rows.size() / words_.size(), mine = each * static_cast<size_t>(rank_);
  std::fill_n(rows.begin(), mine, 0);
  std::fill(rows.begin() + static_cast<ptrdiff_t>(mine + each), rows.end(), 0);
  reduce(rows.data(), static_cast<int64_t>(rows.size()), DType::i32);
}

// A reduction that is not a sum would make invalid indices.
void Workers::gather_words() {
  std::array<int32_t, row_words> sent;
  const auto mine = rows_.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(rank_) * row_words);
  std::copy_n(mine, row_words, sent.begin());
  gather(rows_);
  bool good = std::equal(sent.begin(), sent.end(), mine);
  for (size_t r = 0; r < words_.size(); ++r) {
    const int32_t place = rows_[r * row_words + 1];
    good &= place >= 0 && place <= static_cast<int32_t>(Place::fit_end);
  }
  if (good) return;
  told_ = apart_ = true;
  fail(Code::callback_failed, "the workers' reduction did not return the sum of their values");
}

std::string Workers::message(int64_t from, const char *mine) {
  constexpr size_t bytes = message_words * sizeof(int32_t);
  std::fill(message_.begin(), message_.end(), 0);
  if (from == rank_) std::memcpy(message_.data(), mine, std::min(std::strlen(mine), bytes - 1));
  reduce(message_.data(), static_cast<int64_t>(message_.size()), DType::i32);
  message_.back() = 0;
  return {reinterpret_cast<const char *>(message_.data())};
}

void Workers::tell(const std::exception &e) {
  const auto *error = dynamic_cast<const Error *>(&e);
  int32_t *row = rows_.data() + static_cast<size_t>(rank_) * row_words;
  std::fill_n(row, row_words, 0);
  row[0] = static_cast<int32_t>(error ? error->code : Code::out_of_memory);
  try {
    gather_words();
    int64_t first = 0;
    while (rows_[static_cast<size_t>(first) * row_words] == 0) ++first;  // terminates: this worker's code is not 0
    message(first, e.what());
  } catch (const std::exception &) {
    // The current error is rethrown; the other workers get theirs from the reduction.
  }
}

bool Workers::meet(const Word &word) {
  int32_t *row = rows_.data() + static_cast<size_t>(rank_) * row_words;
  row[0] = 0;
  row[1] = static_cast<int32_t>(word.place);
  row[2] = word.flags;
  std::memcpy(row + 3, word.same.data(), sizeof word.same);
  std::copy(word.own.begin(), word.own.end(), row + 3 + same_words);
  for (size_t i = 0; i < most_numbers; ++i)
    row[first_number + i] = std::bit_cast<int32_t>(i < word.numbers.size() ? word.numbers[i] : 0.0f);
  gather_words();
  for (size_t i = 0; i < word.numbers.size(); ++i) {
    word.numbers[i] = 0;
    for (size_t r = 0; r < words_.size(); ++r)
      word.numbers[i] += std::bit_cast<float>(rows_[r * row_words + first_number + i]);
  }
  int32_t flags = 0;
  for (size_t r = 0; r < words_.size(); ++r) {
    const int32_t *from = rows_.data() + r * row_words;
    if (from[0] != 0) {
      const std::string why = message(static_cast<int64_t>(r), "");
      told_ = true;
      throw Error(static_cast<Code>(from[0]), text("worker ", r, ": ", why)).with("worker", std::to_string(r));
    }
    Word &w = words_[r];
    w.place = static_cast<Place>(from[1]);
    w.flags = from[2];
    std::memcpy(w.same.data(), from + 3, sizeof w.same);
    std::copy_n(from + 3 + same_words, own_words, w.own.begin());
    flags |= w.flags;
  }
  if (flags & Flag::cancel) {
    told_ = true;
    fail(Code::cancelled, "cancelled ", size_ > 1 ? "by one of the workers " : "", "between two batches");
  }
  if (flags & Flag::stop) return false;
  compare();
  return true;
}

void Workers::compare() {
  for (size_t r = 1; r < words_.size(); ++r) {
    const Word &a = words_[0], &b = words_[r];
    if (a.place == b.place && a.same == b.same) continue;
    told_ = true;
    if (a.place != b.place)
      fail(Code::invalid_argument, "the workers are at different places: 0 at ", name(a.place), ", ", r, " at ",
           name(b.place));
    const auto at =
        static_cast<size_t>(std::mismatch(a.same.begin(), a.same.end(), b.same.begin()).first - a.same.begin());
    fail(Code::invalid_argument, "worker ", r, " and worker 0 differ: each must have the same ", name(a.place, at));
  }
}

// Nothing here may fail on one worker only: the others would wait for sums of another size.
void Workers::share(std::span<std::byte> bytes) {
  std::array<int32_t, 8192> some;
  for (size_t at = 0; at < bytes.size(); at += sizeof some) {
    const size_t n = std::min(sizeof some, bytes.size() - at);
    some.fill(0);
    if (rank_ == 0) std::memcpy(some.data(), bytes.data() + at, n);
    reduce(some.data(), static_cast<int64_t>((n + 3) / 4), DType::i32);
    std::memcpy(bytes.data() + at, some.data(), n);
  }
}

void Workers::add(const float *from, float *to, int64_t n) noexcept {
  FlushToZero flush;
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

// From the end, where the measures and the gradients of the last layers are.
void Workers::sum(float *values, int64_t n) {
  if (size_ == 1) return;
  const int64_t most = shards_ > 1 ? std::max<int64_t>(bucket / size_, 1) : bucket;
  while (n > 0) {
    const int64_t some = std::min(most, n);
    n -= some;
    if (shards_ > 1)
      sum_exactly(values + n, some);
    else
      reduce(values + n, some, DType::f32);
  }
}

// Each worker's bits are sent in a separate row.
void Workers::sum_exactly(float *values, int64_t n) {
  const auto bytes = static_cast<size_t>(n) * sizeof(float);
  auto *slots = slots_.as<float>();
  std::memcpy(slots + rank_ * n, values, bytes);
  gather({slots_.as<int32_t>(), static_cast<size_t>(size_ * n)});
  for (int64_t step = 1; step < size_; step *= 2)
    for (int64_t r = 0; r < size_; r += 2 * step) add(slots + (r + step) * n, slots + r * n, n);
  std::memcpy(values, slots, bytes);
}

void Exchange::make_room(const ops::Program &p) {
  for (const ops::Step &step : p.steps)
    if (const auto n = static_cast<size_t>(all_reduced(p, step) + 1); n > numbers_.size()) numbers_.resize(n);
}

bool Exchange::is_in(const ops::Program &p) {
  return std::ranges::any_of(p.steps, [&](const ops::Step &step) { return all_reduced(p, step) >= 0; });
}

void Exchange::begin() {
  done_ = 0;
  failed_ = false;
  broken_ = nullptr;
}

bool Exchange::make_without_mine(int64_t n, float failed) {
  std::fill_n(numbers_.begin(), n, 0.0f);
  return make(n, failed);
}

bool Exchange::make(int64_t n, float failed) {
  OwnFloats own;  // a function of the host
  numbers_[static_cast<size_t>(n)] = failed;
  try {
    workers_.sum(numbers_.data(), n + 1);
  } catch (const std::exception &) {
    broken_ = std::current_exception();
    return false;
  }
  ++done_;
  failed_ = numbers_[static_cast<size_t>(n)] > 0;
  return !failed_;
}

int32_t Exchange::sum(const float *from, float *to, int64_t n) {
  std::copy_n(from, n, numbers_.data());
  if (!make(n, 0)) return 1;
  if (to) std::copy_n(numbers_.data(), n, to);
  return 0;
}

void Exchange::join(const ops::Program &p) {
  for (const ops::Step &step : p.steps) {
    const int64_t n = all_reduced(p, step);
    if (n >= 0 && !make_without_mine(n, 0)) fail(Code::callback_failed, "a sum over all workers failed");
  }
}

void Exchange::end(const ops::Program &p, const std::exception_ptr &failure) {
  if (broken_) std::rethrow_exception(broken_);
  if (failed_) workers_.meet({});  // throws the other worker's error
  int64_t before = done_;
  for (const ops::Step &step : p.steps) {
    const int64_t n = all_reduced(p, step);
    if (n < 0 || before-- > 0) continue;
    make_without_mine(n, 1);
    std::rethrow_exception(broken_ ? broken_ : failure);
  }
}

}  // namespace dl4::train
