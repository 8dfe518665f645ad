// Losses and metrics of two tensors.
#include "train/apart.hpp"

#include "options.hpp"

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_measure(dl4_context *c, const char *category, const char *kind, const char *config, dl4_tensor *y_true,
                       dl4_tensor *y_pred, dl4_tensor *w, dl4_tensor **out) {
  return produce(__func__, out, [&](Entry &entry) {
    Context &context = *capi::context(c).core;
    const std::string which = string(category, "category"), name = string(kind, "kind");
    if (which != "loss" && which != "metric")
      refuse_argument("category", text("expected \"loss\" or \"metric\", got \"", which, '"'));
    const Json attributes = json_object(config, "config");
    std::vector<runtime::View> given{object(y_true, "y_true").view(), object(y_pred, "y_pred").view()};
    if (w) given.push_back(object(w, "w").view());
    entry.log_to(context.log);
    return new dl4_tensor(train::measure(which, name, attributes, given, context.settings(), context.options()));
  });
}
