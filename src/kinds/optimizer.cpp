// Shared by all optimizers: checks and gradient clipping.
// Names of monitored values.
#include "kinds/optimizer.hpp"

#include <cmath>

#include "base/float_mode.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

// limit / max(norm, limit): 1 without clipping, NaN if the norm is NaN.
Id factor(Emit &e, Id norm, double limit) {
  Id bound = e.scalar(static_cast<float>(limit));
  return div(e, bound, binary(e, Binary::max, norm, bound));
}

}  // namespace

void Optimizer::fields(Fields &f) {
  f("learning_rate", learning_rate, "factor of a step").at_least(0);
  f("weight_decay", weight_decay, "decoupled: w -= w * weight_decay * learning_rate before each step").at_least(0);
  f("clipnorm", clipnorm, "greatest norm of each weight's gradient").at_least(0);
  f("clipvalue", clipvalue, "greatest |element| of a gradient").at_least(0);
  f("global_clipnorm", global_clipnorm,
    "greatest norm of all gradients together; a NaN in one of them reaches every weight")
      .at_least(0);
  f("use_ema", use_ema, "keep the mean of each weight over the updates; at the end of a fit it is the weight");
  f("ema_momentum", ema_momentum, "how much of the last mean goes into this one").within(0, 1);
  f("ema_overwrite_frequency", ema_overwrite_frequency,
    "updates from one replacement of the weights by their means to the next; null: the end of a fit only")
      .at_least(0);
  f("loss_scale_factor", loss_scale_factor,
    "the loss is multiplied by it before the gradients are computed, they are divided by it then");
  f("gradient_accumulation_steps", gradient_accumulation_steps,
    "steps that make one update, by the mean of their gradients; null: each")
      .at_least(0);
}

void Optimizer::check() {
  if (clipnorm.has_value() + clipvalue.has_value() + global_clipnorm.has_value() > 1)
    fail(Code::invalid_argument, "only one of \"clipnorm\", \"clipvalue\" and \"global_clipnorm\" may be given");
  if (gradient_accumulation_steps == 1)
    fail(Code::invalid_argument, "\"gradient_accumulation_steps\": expected at least 2, got 1");
  if (loss_scale_factor == 0) fail(Code::invalid_argument, "\"loss_scale_factor\": expected another number than 0");
}

void want_below_1(const char *key, double v) {
  if (!(v < 1)) refuse_attribute(key, "expected below 1, got ", Json(v).dump());
}

bool excludes(const std::string &word, const std::string &weight) {
  if (word.find('/') != std::string::npos) return word == weight;
  const size_t last = weight.rfind('/');
  return weight.find(word, last == std::string::npos ? 0 : last + 1) != std::string::npos;
}

std::vector<Id> Update::blocks(const Optimizer &o) {
  std::vector<Id> list;
  for (const std::vector<Slot> &group : o.slots({}))
    for (const Slot &s : group) list.push_back(slots.block(s.name, s.start));
  return list;
}

Id Update::slot(const Optimizer &o, const Part &part, std::string_view name) {
  for (const std::vector<Slot> &group : o.slots(part))
    for (const Slot &s : group)
      if (s.name == name && s.own) return slots.of(part, s.name, *s.own);
  fail(Code::internal, o.entry().name, " lists no slot \"", name, "\" of ", part.name);
}

Id Update::number(const Optimizer &o, std::string_view name) {
  for (const Slot &s : o.numbers())
    if (s.name == name) return slots.number(s.name, s.start);
  fail(Code::internal, o.entry().name, " lists no number \"", name, '"');
}

std::vector<ops::UpdateExcept> Update::undecayed() const {
  std::vector<ops::UpdateExcept> list;
  for (const Part &p : parts)
    if (!p.decays) list.push_back({p.offset, checked_add(p.offset, p.shape.elements()), true});
  return list;
}

Id Update::by_weight(double weight_decay, const std::function<Id(const Part &, Id, Id)> &f) {
  std::vector<Id> values;
  std::vector<int64_t> offsets;
  for (const Part &p : parts) {
    Id value = ops::view(e, w, p.offset, p.shape), of_g = ops::view(e, g, p.offset, p.shape);
    if (weight_decay != 0 && p.decays)
      value = sub(e, value, mul(e, scale(e, value, static_cast<float>(weight_decay)), learning_rate));
    values.push_back(f(p, value, of_g));
    offsets.push_back(p.offset);
  }
  return ops::pack(e, std::move(values), std::move(offsets), e.shape(w)[0]);
}

// As in Keras, a limit of 0 disables clipping.
std::vector<Id> clip(Emit &e, const Optimizer &o, std::vector<Id> gradients) {
  if (o.clipnorm.value_or(0) > 0) {
    for (Id &g : gradients) g = mul(e, g, factor(e, unary(e, Unary::sqrt, ops::square_sum(e, g)), *o.clipnorm));
  } else if (o.clipvalue.value_or(0) > 0) {
    auto limit = static_cast<float>(*o.clipvalue);
    for (Id &g : gradients) g = unary(e, Unary::clip, g, {-limit, limit});
  } else if (o.global_clipnorm.value_or(0) > 0 && !gradients.empty()) {
    Id squares = ops::none;
    for (Id g : gradients) {
      Id one = ops::square_sum(e, g);
      squares = squares == ops::none ? one : add(e, squares, one);
    }
    Id norm = unary(e, Unary::sqrt, squares);
    // An infinite norm makes every weight NaN, as a NaN norm does, instead of zeroing finite gradients.
    Id by = add(e, factor(e, norm, *o.global_clipnorm), sub(e, norm, norm));
    for (Id &g : gradients) g = mul(e, g, by);
  }
  return gradients;
}

const double *find(const Logs &logs, const std::string &name) {
  auto it = std::ranges::find(logs, name, &Logged::name);
  return it == logs.end() ? nullptr : &it->value;
}

void Monitor::monitor_fields(Fields &f) {
  f("monitor", monitor_, "name in the history; one that is not there is refused as the fit begins, not warned of");
  f("mode", mode_, {"auto", "min", "max"}, "is less better, or more? auto: by the loss or metric of that name");
  f("verbose", verbose_, "1: what is done is said to the log").at_least(0);
}

void Monitor::train_begin(Fit &f, const Moment &, Json &) const {
  if (std::ranges::find(f.names(), monitor_) == f.names().end()) {
    std::string known;
    for (const std::string &name : f.names()) known += (known.empty() ? "\"" : ", \"") + name + '"';
    throw Error(Code::invalid_argument,
                text(entry().name, " \"monitor\": expected one of ", known, ", got \"", monitor_, '"'))
        .with("attribute", "monitor")
        .suggest(monitor_, f.names());
  }
  if (mode_ == Mode::by_name && !f.rises(monitor_))
    throw Error(Code::invalid_argument, text(entry().name, " \"mode\": whether less or more of \"", monitor_,
                                             "\" is better is unknown: expected \"min\" or \"max\", got \"auto\""))
        .with("attribute", "mode");
}

bool Monitor::improves(const Fit &f, double v, const Json &reference) const {
  if (reference.is_null()) return true;
  FlushToZero flush;
  const bool up = mode_ == Mode::max || (mode_ == Mode::by_name && f.rises(monitor_).value_or(false));
  const double delta = std::fabs(min_delta_);
  const auto than = static_cast<float>(reference.get<double>());
  return up ? static_cast<float>(v - delta) > than : static_cast<float>(v + delta) < than;
}

}  // namespace dl4::kinds
