// Compares a model's gradients with finite differences.
#include "train/apart.hpp"

#include "options.hpp"

namespace dl4::capi {

Json describe_check_options() { return kinds::describe_fields<train::GradientCheck>(); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_model_check_gradients(const dl4_model *m, dl4_tensor *const *in, int64_t n_in, const char *options,
                                     dl4_blob **out) {
  return produce(__func__, out, [&](Entry &entry) {
    const dl4_model &model = object(m, "model");
    const auto how = read_options<train::GradientCheck>(options);
    std::vector<Tensor> given;
    for (const dl4_tensor *t : tensors(in, n_in, "in")) given.push_back(t->as_dense());
    entry.log_to(model.context->log);
    Gate::Reading reading(*model.weights, "model");
    return make_blob(dump(train::check_gradients(*model.core, given, how, model.context->options())));
  });
}
