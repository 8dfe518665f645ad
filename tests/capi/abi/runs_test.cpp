// Every way to run, with every argument wrong: refused, and the next run is as if nothing had been.
#include <functional>

#include "capi/graphs.hpp"

namespace dl4_test::DL4_FILE {
namespace {

constexpr int64_t batch = 1, steps = 2, features = 4;

struct Kind {
  const char *name, *options;
  Own<dl4_model> model;
  int64_t inputs = 1, outputs = 1;  // of a run of the session
  bool streams = false, predicts = false;
};

Own<dl4_model> recurrent() {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, features});
  return build(g, {x}, {put(g, "LSTM", "lstm", R"({"units": 3})", {x})});
}

Own<dl4_model> sized() {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, features}), above = put(g, "Greater", "above", R"({"x2": 0})", {x});
  const dl4_node count = put(g, "Sum", "count", "{}", {put(g, "Cast", "flags", R"({"to": "int32"})", {above})});
  return build(g, {x}, {put(g, "Range", "places", "{}", {count})});
}

Own<dl4_model> assigning() {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, -1, features}), sum = put(g, "Sum", "sum", "{}", {x});
  const dl4_node w = put(g, "Weight", "w", R"({"shape": [], "initializer": "Zeros", "learned": false})", {});
  dl4_node now = -1;
  ok(dl4_graph_add_assign(g, nullptr, w, sum, &now));
  return build(g, {x}, {now});
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  all.push_back({"whole", "{}", recurrent(), 1, 1, false, true});
  all.push_back({"states", R"({"states": true})", recurrent(), 3, 3, true, true});
  all.push_back({"streamable", R"({"streamable": true})", recurrent(), 1, 1, true, false});
  all.push_back({"computed sizes", "{}", sized(), 1, 1, false, false});
  all.push_back({"assigning", "{}", assigning(), 1, 1, false, false});
  return all;
}

// What a call is given; each test changes one of them.
struct Given {
  std::vector<dl4_tensor *> in, out;
  dl4_tensor *const *in_list = nullptr;
  dl4_tensor **out_list = nullptr;
  int64_t n_in = 0, n_out = 0;
  dl4_cancel *cancel = nullptr;
};
using Call = std::function<dl4_error *(const Given &)>;

template <class T>
T *as(void *other) {
  return reinterpret_cast<T *>(other);
}

void expect_refusals(const std::string &who, const Call &call, std::vector<dl4_tensor *> in, int64_t outputs) {
  Own<dl4_cancel> other;
  ok(dl4_cancel_create(other.out()));
  const auto with = [&](const std::string &what, const std::function<void(Given &)> &change) {
    Given g;
    g.in = in;
    g.out.resize(static_cast<size_t>(outputs));
    g.n_in = std::ssize(in), g.n_out = outputs;
    g.in_list = g.in.data(), g.out_list = g.out.data();
    change(g);
    const Refusal r = refusal(call(g));
    EXPECT_EQ(r.code, what.empty() ? 0 : DL4_INVALID_ARGUMENT) << who << ": " << what << ": " << r.message;
    for (dl4_tensor *t : g.out)
      if (t != as<dl4_tensor>(other.get())) dl4_release(t);
  };
  with("", [](Given &) {});
  for (int64_t n : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, INT64_MAX})
    with("in NULL", [&](Given &g) { g.in_list = nullptr, g.n_in = n; });
  with("in NULL, 0 inputs", [](Given &g) { g.in_list = nullptr, g.n_in = 0; });
  with("fewer inputs", [](Given &g) { --g.n_in; });
  with("one input more", [](Given &g) { g.in.push_back(g.in[0]), g.in_list = g.in.data(), ++g.n_in; });
  for (int64_t n : {int64_t{-1}, INT64_MIN}) {
    with("negative n_in", [&](Given &g) { g.n_in = n; });
    with("negative n_out", [&](Given &g) { g.n_out = n; });
  }
  for (size_t i = 0; i < in.size(); ++i) {
    with("NULL among in", [&](Given &g) { g.in[i] = nullptr; });
    with("no tensor among in", [&](Given &g) { g.in[i] = as<dl4_tensor>(other.get()); });
  }
  with("out NULL", [](Given &g) { g.out_list = nullptr; });
  with("fewer outputs", [](Given &g) { --g.n_out; });
  with("one output more", [](Given &g) { g.out.push_back(nullptr), g.out_list = g.out.data(), ++g.n_out; });
  with("no tensor among out", [&](Given &g) { g.out[0] = as<dl4_tensor>(other.get()); });
  with("no cancel", [&](Given &g) { g.cancel = as<dl4_cancel>(in[0]); });
  with("", [](Given &) {});
}

TEST(Runs, RefuseWrongArgumentsWhicheverWay) {
  auto x = tensor({batch, steps, features}, numbers(batch * steps * features)), h = tensor({batch, 3}, {1, 2, 3});
  for (Kind &k : kinds()) {
    Own<dl4_session> s;
    ok(dl4_session_create(k.model, k.options, s.out()));
    const std::string who = std::string("session, ") + k.name;
    std::vector<dl4_tensor *> in{x};
    if (k.inputs == 3) in.insert(in.end(), {h, h});
    expect_refusals(
        who, [&](const Given &g) { return dl4_session_run(s, g.in_list, g.n_in, g.out_list, g.n_out, g.cancel); }, in,
        k.outputs);
    EXPECT_EQ(refusal(dl4_session_run(as<dl4_session>(x.get()), in.data(), 1, nullptr, 0, nullptr)).code,
              DL4_INVALID_ARGUMENT);
    if (!k.streams) continue;
    Own<dl4_stream> stream;
    ok(dl4_stream_create(s, nullptr, stream.out()));
    expect_refusals(
        "stream, " + who,
        [&](const Given &g) { return dl4_stream_run(stream, g.in_list, g.n_in, g.out_list, g.n_out, g.cancel); }, {x},
        1);
    dl4_stream *list[] = {stream};
    expect_refusals(
        "many, " + who,
        [&](const Given &g) {
          return dl4_stream_run_many(list, 1, nullptr, g.in_list, g.n_in, g.out_list, g.n_out, g.cancel);
        },
        {x}, 1);
    for (int64_t n : {int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
      Own<dl4_tensor> y;
      dl4_tensor *one = x;
      EXPECT_EQ(refusal(dl4_stream_run_many(nullptr, n, nullptr, &one, 1, y.out(), 1, nullptr)).code,
                DL4_INVALID_ARGUMENT);
    }
    dl4_stream *none[] = {nullptr}, *no_stream[] = {as<dl4_stream>(x.get())};
    for (auto *wrong : {none, no_stream}) {
      Own<dl4_tensor> y;
      dl4_tensor *one = x;
      EXPECT_EQ(refusal(dl4_stream_run_many(wrong, 1, nullptr, &one, 1, y.out(), 1, nullptr)).code,
                DL4_INVALID_ARGUMENT);
    }
    int64_t id = 0;
    expect_refusals(
        "next, " + who,
        [&](const Given &g) {
          // Ids stand where the others have outputs.
          const bool wrong = g.n_out == 1 && g.out_list && g.out[0];
          return dl4_stream_next(stream, g.in_list, g.n_in, nullptr, nullptr, nullptr,
                                 g.out_list && !wrong ? &id : nullptr, g.n_out, g.cancel);
        },
        {x}, 1);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
