// Shared by all losses: matching of shapes, and Keras's reductions with weights and masks.
// Shared by all metrics: means over samples with weights and masks, and metrics of losses.
#include "kinds/loss.hpp"

#include "kinds/layers/core/masks.hpp"
#include "ops/matched.hpp"

namespace dl4::kinds {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Reduce;

void Loss::fields(Fields &f) {
  f("reduction", reduction, {"sum_over_batch_size", "sum", "none", "mean", "mean_with_sample_weight"},
    "how the values of a batch become one number; null is another word for none")
      .null_means(Reduction::none);
}

Pair aligned(Emit &e, Id y_true, Id y_pred) {
  y_true = cast(e, y_true, DType::f32);
  y_pred = cast(e, y_pred, DType::f32);
  int t = e.rank(y_true), p = e.rank(y_pred);
  // Keras keeps a single axis of size 1 for a batch of numbers, and drops it otherwise.
  auto narrow = [&](Id &wide, Id &small, int rank) {
    if (e.shape(wide).last() != 1) return;
    if (rank == 1)
      small = reshape(e, small, 1, {1});
    else
      wide = squeeze(e, wide, -1 + e.rank(wide));
  };
  if (t == p + 1)
    narrow(y_true, y_pred, p);
  else if (p == t + 1)
    narrow(y_pred, y_true, t);
  return {y_true, y_pred};
}

Pair matched(Emit &e, Id y_true, Id y_pred) {
  Pair y = aligned(e, y_true, y_pred);
  if (!compatible(e.shape(y.y_true), e.shape(y.y_pred)))
    fail(Code::shape_mismatch, "targets have shape ", e.shape(y_true), ", predictions ", e.shape(y_pred));
  if (e.rank(y.y_pred) < 1) fail(Code::shape_mismatch, "predictions have no axis: expected at least a batch");
  return y;
}

Id class_numbers(Emit &e, Id y_true, Id y_pred) {
  const Shape t = e.shape(y_true), p = e.shape(y_pred);
  if (p.rank() < 2) fail(Code::shape_mismatch, "predictions have shape ", p, ", expected a last axis of classes");
  Id labels = t.rank() == p.rank() && t.last() == 1 ? squeeze(e, y_true, p.rank() - 1) : y_true;
  if (!compatible(e.shape(labels), p.first(p.rank() - 1)))
    fail(Code::shape_mismatch, "targets have shape ", t, ", expected class numbers ", p.first(p.rank() - 1),
         " for predictions ", p);
  return labels;
}

Id leading(Emit &e, Id x, Id items, const char *what) {
  const Shape given = e.shape(x), s = e.shape(items);
  if (given.rank() == s.rank() + 1 && given.last() == 1) x = squeeze(e, x, s.rank());
  int rank = e.rank(x);
  bool fits = rank <= s.rank();
  for (int i = 0; fits && i < rank; ++i) {
    int64_t a = e.shape(x)[i], b = s[i];
    fits = a == b || a == 1 || a == free_dim || b == free_dim;
  }
  if (!fits) fail(Code::shape_mismatch, what, " have shape ", given, ", expected leading axes of ", s);
  if (rank == s.rank()) return x;
  Shape tail;
  for (int i = rank; i < s.rank(); ++i) tail = tail.inserted(0, 1);
  return reshape(e, x, rank, tail);
}

Id logits_behind(Emit &e, Id y_pred) {
  const ops::Step *step = ops::maker(e.program, producers(e.program), y_pred);
  if (!step) return none;
  auto *softmax = ops::as<ops::SoftmaxOp>(*step);
  auto *unary = ops::as<ops::UnaryOp>(*step);
  bool found = (softmax && !softmax->log) || (unary && unary->function.f == ops::Unary::sigmoid);
  return found ? step->src[0] : none;
}

Id all_ones(Emit &e, Id like) { return fill(e, DType::f32, 1, like, e.rank(like), {}); }

Loss::Weighted Loss::weighted(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  // A mask over steps of single numbers (B, T, 1) needs the losses per step, not their mean.
  if (mask != none && e.rank(mask) == e.rank(y_true) && e.rank(y_pred) == e.rank(y_true) + 1 &&
      e.shape(y_pred).last() == 1)
    y_true = reshape(e, y_true, e.rank(y_true), {1});
  Items it = items(e, y_true, y_pred);
  Id v = it.value;
  // A single value for the whole batch counts once for each weight.
  if (e.rank(v) == 0)
    for (Id like : {sample_weight, mask})
      if (like != none && e.rank(like) > e.rank(v)) v = broadcast_like(e, it.value, like);
  Id valid = both(e, mask == none ? none : leading(e, mask, v, "masks"), it.valid);
  Id weight = sample_weight == none ? none : leading(e, cast(e, sample_weight, DType::f32), v, "sample weights");
  // Masked values are selected away, not multiplied by 0, so NaNs there do no harm.
  if (weight != none) v = mul(e, v, weight);
  if (valid != none) v = select(e, valid, v, e.scalar(0));
  return {v, weight, valid};
}

Id Loss::value(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  if (reduction == Reduction::none) return weighted(e, y_true, y_pred, sample_weight, mask).value;
  return scalar(e, y_true, y_pred, sample_weight, mask);
}

bool Loss::counts(const Weighted &w) const {
  return w.valid != none || (reduction == Reduction::mean_with_sample_weight && w.weight != none);
}

Id Loss::divisor(Emit &e, const Weighted &w) const {
  Id parts = all_ones(e, w.value);
  if (reduction == Reduction::mean_with_sample_weight && w.weight != none) parts = mul(e, parts, w.weight);
  if (w.valid != none) parts = select(e, w.valid, parts, e.scalar(0));
  return reduce(e, Reduce::sum, parts, {});
}

Id Loss::divided(Emit &e, const Weighted &w, Id divisor) const {
  Id total = reduce(e, Reduce::sum, w.value, {});
  if (reduction == Reduction::sum || reduction == Reduction::none) return total;
  if (!counts(w)) return div(e, total, divisor);
  if (reduction != Reduction::mean_with_sample_weight)
    return div(e, total, binary(e, Binary::max, divisor, e.scalar(1)));
  Id zero = e.scalar(0), some = binary(e, Binary::not_equal, divisor, zero);
  return select(e, some, div(e, total, select(e, some, divisor, e.scalar(1))), zero);
}

Id Loss::scalar(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  const Weighted w = weighted(e, y_true, y_pred, sample_weight, mask);
  const bool is_sum = reduction == Reduction::sum || reduction == Reduction::none;
  if (!is_sum && !counts(w)) return reduce(e, Reduce::mean, w.value, {});
  return divided(e, w, is_sum ? none : divisor(e, w));
}

Id Loss::part(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask, Id divisor) const {
  return divided(e, weighted(e, y_true, y_pred, sample_weight, mask), divisor);
}

Id Loss::divisor(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  const Weighted w = weighted(e, y_true, y_pred, sample_weight, mask);
  if (e.rank(w.value) == 0 || joins_samples(e.rank(y_pred)))
    fail(Code::unsupported, "one number for the whole batch can't be computed part by part");
  return divisor(e, w);
}

namespace {

bool is_accuracy(const Json &j) {
  std::string s;
  if (j.is_string())
    for (char c : j.get<std::string>()) s += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return s == "accuracy" || s == "acc";
}

// Sum over the batch of each sample's mean.
Id sum_of_means(Emit &e, Id v) {
  std::vector<int> inner;
  for (int i = 1; i < e.rank(v); ++i) inner.push_back(i);
  return reduce(e, Reduce::sum, inner.empty() ? v : reduce(e, Reduce::mean, v, inner), {});
}

class MeanOfLossMetric final : public MeanMetric {
 public:
  using Row = MeanOfLoss;
  explicit MeanOfLossMetric(const Row &row) : row_(row), loss_(row.loss.fresh(row.loss)) {}
  void fields(Fields &f) override {
    Metric::fields(f);
    loss_->fields(f);
    f.drop("reduction");
  }
  void check() override { loss_->check(); }
  std::string usual_name() const override {
    return row_.log_name.empty() ? Metric::usual_name() : std::string(row_.log_name);
  }
  std::optional<bool> rises() const override { return row_.rises; }
  Json more() const override {
    Json all = Metric::more();
    all["doc"] = text("mean of ", row_.doc);
    return all;
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return static_cast<const Loss &>(*loss_).items(e, y_true, y_pred);
  }
  bool joins_samples(int rank) const override { return static_cast<const Loss &>(*loss_).joins_samples(rank); }

 private:
  const Row &row_;
  std::unique_ptr<Kind> loss_;
};

}  // namespace

std::string Metric::usual_name() const { return snake_case(entry().name); }

Json Metric::more() const {
  Json all{{"log_name", usual_name()}};
  if (const auto up = rises()) all["direction"] = *up ? "up" : "down";
  return all;
}

void Metric::fields(Fields &f) { f("name", given_name, "name in logs and history"); }

std::vector<Id> sums_of_mean(Emit &e, const Items &items, Id sample_weight, Id mask) {
  Id v = items.value;
  const Id zero = e.scalar(0);
  if (sample_weight == none && mask == none) {  // then Keras counts invalid items as 0
    if (items.valid != none) v = select(e, items.valid, v, zero);
    return {sum_of_means(e, v), reduce(e, Reduce::sum, fill(e, DType::f32, 1, v, std::min(e.rank(v), 1), {}), {})};
  }
  const Id valid = both(e, mask == none ? none : leading(e, mask, v, "masks"), items.valid);
  Id parts = all_ones(e, v);
  if (sample_weight != none) {
    Id weight = leading(e, cast(e, sample_weight, DType::f32), v, "sample weights");
    v = mul(e, v, weight);
    parts = mul(e, parts, weight);
  }
  if (valid != none) {
    v = select(e, valid, v, zero);
    parts = select(e, valid, parts, zero);
  }
  return {sum_of_means(e, v), sum_of_means(e, parts)};
}

std::vector<Id> MeanMetric::sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  return sums_of_mean(e, items(e, y_true, y_pred), sample_weight, mask);
}

void MeanMetric::result(std::span<const double> sums, std::span<double> to) const {
  to[0] = quotient(sums[0], sums[1]);
}

Of<Metric> metric_for(const Json &identifier) {
  if (identifier.is_null()) expected("a metric", identifier);
  if (!identifier.is_string()) return parse<Metric>(identifier);
  Json config{{"name", identifier}}, class_name = identifier;
  if (is_accuracy(identifier)) {
    class_name = "Accuracy";
    config["by_shape"] = true;
  }
  return parse<Metric>({{"class_name", class_name}, {"config", config}});
}

std::unique_ptr<Kind> fresh_mean_of_loss(const Entry &self) { return fresh<MeanOfLossMetric>(self); }

void list_mean(Entries &all, const Entry &loss) { list(all, kept(std::make_unique<MeanOfLoss>(loss))); }

}  // namespace dl4::kinds
