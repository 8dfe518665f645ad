// A loss or metric of two tensors: a loss by a graph of that one layer, a metric by its sums.
#include <algorithm>

#include "graph/lower.hpp"
#include "kinds/metric.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

constexpr const char *names[] = {"y_true", "y_pred", "w"};
using Given = std::vector<const dl4_tensor *>;

std::vector<Tensor> run(Context &context, ops::Program program, const Given &given) {
  std::vector<runtime::View> from, to;
  for (const dl4_tensor *t : given) from.push_back(t->view());
  auto session = runtime::Executable::make(std::move(program), {}, std::make_shared<ops::Packs>(), context.options());
  std::vector<Tensor> made;
  int64_t bytes = 0;
  for (const ops::Operand &o : session->outputs(from)) {
    bytes = checked_add(bytes, checked_mul(o.shape.elements(), size_of(o.dtype)));
    session->need_room(bytes);
    made.push_back(context.memory->tensor(o.dtype, o.shape));
    to.push_back({o.dtype, o.shape, made.back().data.get(), nullptr});
  }
  session->run(from, to);
  return made;
}

Tensor loss(Context &context, const std::string &name, const Json &of, const Given &given) {
  auto graph = std::make_shared<graph::Graph>(context.settings());
  std::vector<graph::Node> in;
  for (size_t i = 0; i < given.size(); ++i) in.push_back(graph->input(names[i], given[i]->dtype, given[i]->shape));
  std::vector<graph::Node> value = graph->add("Loss", name, {{"loss", of}}, {}, in, 1);
  graph::Model model(graph, in, {value[0]});
  return run(context, graph::inference(model).program, given)[0];
}

Tensor metric(Context &context, const Json &of, const Given &given) {
  const kinds::Of<kinds::Metric> kind = kinds::metric_for(of);
  ops::Program program;
  ops::Emit e(program);
  std::vector<ops::Id> in;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i]->dtype == DType::f64)
      fail(Code::unsupported, names[i], ": expected float32, integers or flags, got float64");
    in.push_back(e.input(names[i], given[i]->dtype, given[i]->shape));
  }
  for (ops::Id sum : kind->sums(e, in[0], in[1], in.size() > 2 ? in[2] : ops::none, ops::none)) e.output(sum);
  const kinds::Metric::Size size = kind->size(given[1]->shape);
  std::vector<double> sums, results(static_cast<size_t>(size.results));
  for (const Tensor &part : run(context, std::move(program), given))
    for (int64_t i = 0; i < part.elements(); ++i) sums.push_back(static_cast<double>(part.as<float>()[i]));
  kind->result(sums, results);
  Tensor made = context.memory->tensor(DType::f32, size.results == 1 ? Shape() : Shape{size.results});
  std::transform(results.begin(), results.end(), made.as<float>(), [](double v) { return static_cast<float>(v); });
  return made;
}

}  // namespace
}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_measure(dl4_context *c, const char *category, const char *kind, const dl4_attrs *a, dl4_tensor *y_true,
                       dl4_tensor *y_pred, dl4_tensor *w, dl4_tensor **out) {
  clear(out);
  return guard(__func__, [&](Entry &entry) {
    Context &context = *capi::context(c).core;
    const std::string which = string(category, "category"), name = string(kind, "kind");
    if (which != "loss" && which != "metric")
      refuse_argument("category", text("expected \"loss\" or \"metric\", got \"", which, '"'));
    const bool is_loss = which == "loss";
    const Json config = plain(a, "a");
    // A word that is no kind's name, such as "accuracy", is one of a trainer's.
    const auto &kinds = kinds::entries(which);
    const bool is_kind = std::any_of(kinds.begin(), kinds.end(), [&](const auto *e) { return e->name == name; });
    Json of = name;
    if (is_kind || !config.empty()) of = {{"class_name", name}, {"config", config}};
    Given given{&object(y_true, "y_true"), &object(y_pred, "y_pred")};
    if (w) given.push_back(&object(w, "w"));
    dl4_tensor *&to = needed(out, "out");
    entry.owes(context.log);
    to = new dl4_tensor(is_loss ? loss(context, name, of, given) : metric(context, of, given));
  });
}
