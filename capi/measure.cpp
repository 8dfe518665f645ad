// A loss or metric of two tensors, by a graph of that one layer.
#include "graph/lower.hpp"
#include "options.hpp"

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_measure(dl4_context *c, const char *category, const char *kind, const dl4_attrs *a, dl4_tensor *y_true,
                       dl4_tensor *y_pred, dl4_tensor *w, dl4_tensor **out) {
  clear(out);
  return guard(__func__, [&] {
    Context &context = *capi::context(c).core;
    const std::string which = string(category, "category"), name = string(kind, "kind");
    if (which != "loss" && which != "metric")
      refuse_argument("category", text("expected \"loss\" or \"metric\", got \"", which, '"'));
    const bool is_loss = which == "loss";
    const Json config = plain(a, "a");
    Json of = name;  // without attributes a word may stand for more: "accuracy"
    if (!config.empty()) of = {{"class_name", name}, {"config", config}};
    std::vector<const dl4_tensor *> given{&object(y_true, "y_true"), &object(y_pred, "y_pred")};
    if (w) given.push_back(&object(w, "w"));
    dl4_tensor *&to = needed(out, "out");
    LogDelivery delivery(context.log);
    auto graph = std::make_shared<graph::Graph>(context.settings());
    std::vector<graph::Node> in;
    std::vector<runtime::View> from;
    constexpr const char *names[] = {"y_true", "y_pred", "w"};
    for (size_t i = 0; i < given.size(); ++i) {
      in.push_back(graph->input(names[i], given[i]->dtype, given[i]->shape));
      from.push_back(given[i]->view());
    }
    std::vector<graph::Node> value = graph->add(is_loss ? "Loss" : "Metric", name, {{which, of}}, {}, in, 1);
    graph::Model model(graph, in, {value[0]});
    auto session =
        runtime::Session::make(graph::inference(model).program, {}, std::make_shared<ops::Packs>(), context.options());
    const ops::Operand made = session->outputs(from)[0];
    session->need_room(checked_mul(made.shape.elements(), size_of(made.dtype)));
    Tensor result = context.memory->tensor(made.dtype, made.shape);
    session->run(from, std::vector<runtime::View>{{made.dtype, made.shape, result.data.get()}});
    to = new dl4_tensor(std::move(result));
  });
}
