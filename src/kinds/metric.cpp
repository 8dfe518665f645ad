// What all metrics share: means of samples with weights and masks, and metrics made from losses.
#include "kinds/loss.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none, ops::Reduce;

bool is_accuracy(const Json &j) {
  std::string s;
  if (j.is_string())
    for (char c : j.get<std::string>()) s += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return s == "accuracy" || s == "acc";
}

// The sum over the batch of each sample's mean.
Id sum_of_means(Emit &e, Id v) {
  std::vector<int> inner;
  for (int i = 1; i < e.rank(v); ++i) inner.push_back(i);
  return reduce(e, Reduce::sum, inner.empty() ? v : reduce(e, Reduce::mean, v, inner), {});
}

class MeanOfLoss final : public Metric {
 public:
  MeanOfLoss(Of<Loss> loss, const char *usual_name, const Entry &(*self)())
      : loss_(std::move(loss)), usual_name_(usual_name), self_(self) {}
  const Entry &entry() const override { return self_(); }
  Json config() const override {
    Json config{{"name", given_name ? Json(*given_name) : Json(nullptr)}};
    const Json of_loss = loss_->config();
    for (const auto &[key, value] : of_loss.items())
      if (key != "reduction") config[key] = value;
    return config;
  }
  std::string usual_name() const override { return usual_name_; }
  Items items(Emit &e, Id y_true, Id y_pred) const override { return loss_->items(e, y_true, y_pred); }

 private:
  Of<Loss> loss_;
  const char *usual_name_;
  const Entry &(*self_)();
};

}  // namespace

Mean Metric::mean(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id mask) const {
  Items it = items(e, y_true, y_pred);
  Id v = it.value;
  // Where Keras has weights it leaves invalid items out, where it has none it counts them as 0; here they are always
  // out.
  Id valid = both(e, mask == none ? none : leading(e, mask, v, "masks"), it.valid);
  if (sample_weight == none && valid == none)
    return {sum_of_means(e, v), reduce(e, Reduce::sum, fill(e, DType::f32, 1, v, 1, {}), {})};
  Id zero = e.scalar(0), parts = all_ones(e, v);
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

Of<Metric> metric_for(const Json &identifier) {
  if (identifier.is_null()) expected("a metric", identifier);
  if (!identifier.is_string()) return Convert<Of<Metric>>::from(identifier);
  Json config{{"name", identifier}}, class_name = identifier;
  if (is_accuracy(identifier)) {
    class_name = "Accuracy";
    config["by_shape"] = true;
  }
  return Convert<Of<Metric>>::from({{"class_name", class_name}, {"config", config}});
}

Entry mean_of_loss(const Entry &loss, const char *name, const char *usual_name, const Entry &(*self)()) {
  Entry e;
  e.category = Metric::category;
  e.name = name;
  e.doc = "mean of " + loss.doc;
  e.aliases = loss.aliases;
  std::apply([&](const auto &...f) { (e.fields.push_back(f.info), ...); }, metric_fields());
  for (const FieldInfo &f : loss.fields)
    if (f.key != "reduction") e.fields.push_back(f);
  e.make = [&loss, usual_name, self](const Json &config) -> std::shared_ptr<const Kind> {
    std::vector<std::string> keys;
    for (const FieldInfo &f : self().fields) keys.push_back(f.key);
    refuse_unknown_keys(config, keys, true);
    auto metric =
        std::make_shared<MeanOfLoss>(std::static_pointer_cast<const Loss>(loss.make(config)), usual_name, self);
    if (const Json *given = config.find("name")) std::get<0>(metric_fields()).read(*metric, *given);
    return metric;
  };
  return e;
}

}  // namespace dl4::kinds
