// Names of monitored values.
#include "kinds/callback.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/float_mode.hpp"

namespace dl4::kinds {

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
