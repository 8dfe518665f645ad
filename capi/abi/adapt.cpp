// Layers that learn from data before a model is trained.
#include "train/apart.hpp"

#include "batches.hpp"
#include "options.hpp"

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_adapt(dl4_context *c, const char *kind, const char *config, dl4_dataset *d, dl4_cancel *cancel,
                     dl4_blob **out) {
  return produce(__func__, out, [&](Entry &entry) {
    Context &context = *capi::context(c).core;
    const std::string name = string(kind, "kind");
    const Json attributes = json_object(config, "config");
    dl4_dataset &data = object(d, "data");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    entry.log_to(context.log);
    const Batches batches(data, 1, 0, false);
    return new dl4_blob(dump(train::adapt(name, attributes, *data.core, context.settings().memory_limit, flag(keep))));
  });
}
