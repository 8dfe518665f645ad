// One golden case run through the public interface, in any context.
#pragma once

#include <stdexcept>

#include "capi/net.hpp"
#include "golden_file.hpp"

namespace golden {

using dl4_test::Own;

// A call that failed where a case should go through.
struct Refused : std::runtime_error {
  int32_t code;
  Refused(int32_t c, const std::string &message) : std::runtime_error(message), code(c) {}
};
void must(dl4_error *e);  // throws Refused

Own<dl4_context> context(const Json &options);
Own<dl4_tensor> tensor(const Array &a);
Array array(const dl4_tensor *t);
Own<dl4_model> begun(dl4_context *c, const Json &architecture);  // as it begins
Own<dl4_model> build(dl4_context *c, const Json &architecture, const Arrays &weights);
std::vector<Own<dl4_tensor>> tensors(const std::vector<Array> &list);
std::vector<dl4_tensor *> pointers(const std::vector<Own<dl4_tensor>> &list);
Arrays run(dl4_session *s, const std::vector<Array> &inputs, size_t n_out);  // by "output/<number>"
Arrays run(const dl4_model *m, const std::vector<Array> &inputs);
std::vector<Array> inputs(const Case &c);  // in the order of the model's inputs

Json describe(const void *object);
Array as_filed(Array value);  // the files hold scalars with the shape [1]

// Everything the case's golden has, computed; by the names of the golden. Throws Refused.
Arrays run_case(const Case &c, dl4_context *context);

// The parts of it for cases without a model.
void function(const Case &c, dl4_context *context, Arrays &found);
void metric(const Case &c, dl4_context *context, Arrays &found);
void loss_values(const Case &c, dl4_context *context, Arrays &found);
void initializer(const Case &c, dl4_context *context, Arrays &found);

// The same net with its float inputs as rows of embeddings, so that the gradient of an input is one of a weight.
struct Rows {
  Json architecture;
  Arrays weights;
  std::vector<Array> inputs;
};
Rows as_rows(const Case &c);

}  // namespace golden
