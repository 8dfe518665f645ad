// Every exported function with NULL for every pointer, and with handles of the wrong type: an error, never a crash, and
// nothing left unset.
#include <dl4/dl4.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace DL4_FILE {
namespace {

using std::string;

// Calls visit(name, function) for each of them.
template <class V>
void for_all(V visit) {
#define F(name) visit(string(#name), &name);
  F(dl4_version)
  F(dl4_build_info)
  F(dl4_api_description)
  F(dl4_registry_json)
  F(dl4_registry_check)
  F(dl4_registry_add)
  F(dl4_registry_remove)
  F(dl4_retain)
  F(dl4_release)
  F(dl4_describe)
  F(dl4_port_count)
  F(dl4_port_name)
  F(dl4_port_dtype)
  F(dl4_port_shape)
  F(dl4_error_code)
  F(dl4_error_message)
  F(dl4_error_detail)
  F(dl4_blob_data)
  F(dl4_blob_size)
  F(dl4_context_create)
  F(dl4_context_set_seed)
  F(dl4_context_set_logger)
  F(dl4_context_set_allocator)
  F(dl4_context_trim)
  F(dl4_refs_create)
  F(dl4_refs_set_model)
  F(dl4_refs_set_nodes)
  F(dl4_tensor_create)
  F(dl4_tensor_wrap)
  F(dl4_tensor_from_dlpack)
  F(dl4_tensor_to_dlpack)
  F(dl4_tensor_clone)
  F(dl4_tensor_copy_in)
  F(dl4_tensor_copy_out)
  F(dl4_tensor_load)
  F(dl4_tensor_save)
  F(dl4_tensor_from_strings)
  F(dl4_tensor_wrap_strings)
  F(dl4_tensor_string)
  F(dl4_tensor_dtype)
  F(dl4_tensor_rank)
  F(dl4_tensor_dims)
  F(dl4_tensor_strides)
  F(dl4_tensor_data)
  F(dl4_tensor_bytes)
  F(dl4_graph_create)
  F(dl4_graph_add_input)
  F(dl4_graph_add_constant)
  F(dl4_graph_add_layer)
  F(dl4_graph_add_shared)
  F(dl4_graph_call)
  F(dl4_graph_add)
  F(dl4_graph_add_json)
  F(dl4_node_shape)
  F(dl4_node_dtype)
  F(dl4_graph_add_mask)
  F(dl4_graph_add_weight)
  F(dl4_graph_add_gradients)
  F(dl4_graph_add_assign)
  F(dl4_graph_add_update)
  F(dl4_graph_add_after)
  F(dl4_node_outputs)
  F(dl4_graph_build)
  F(dl4_model_load)
  F(dl4_model_load_bytes)
  F(dl4_model_load_weights)
  F(dl4_model_save)
  F(dl4_model_save_bytes)
  F(dl4_model_clone)
  F(dl4_model_get_trainable)
  F(dl4_model_get_weight)
  F(dl4_model_set_weight)
  F(dl4_model_set_trainable)
  F(dl4_model_check_gradients)
  F(dl4_session_create)
  F(dl4_session_output_shape)
  F(dl4_session_run)
  F(dl4_session_predict)
  F(dl4_measure)
  F(dl4_adapt)
  F(dl4_dataset_from_tensors)
  F(dl4_dataset_from_callback)
  F(dl4_trainer_create)
  F(dl4_trainer_step)
  F(dl4_trainer_accumulate)
  F(dl4_trainer_apply)
  F(dl4_trainer_get_gradient)
  F(dl4_trainer_set_gradient)
  F(dl4_trainer_add_gradient)
  F(dl4_trainer_zero_gradients)
  F(dl4_trainer_set_workers)
  F(dl4_trainer_fit)
  F(dl4_trainer_evaluate)
  F(dl4_trainer_get_number)
  F(dl4_trainer_set_number)
  F(dl4_trainer_save)
  F(dl4_trainer_save_bytes)
  F(dl4_trainer_load)
  F(dl4_trainer_load_bytes)
  F(dl4_stream_create)
  F(dl4_stream_run)
  F(dl4_stream_run_many)
  F(dl4_stream_next)
  F(dl4_stream_fork)
  F(dl4_stream_reset)
  F(dl4_stream_reset_row)
  F(dl4_stream_save_bytes)
  F(dl4_stream_load_bytes)
  F(dl4_cancel_create)
  F(dl4_cancel_trigger)
  F(dl4_cancel_triggered)
#undef F
}

// NULL is all these need: the default context.
const std::set<string> fine_with_null = {"dl4_context_set_seed", "dl4_context_set_logger", "dl4_context_set_allocator",
                                         "dl4_context_trim"};

// Their outputs are arrays of slots.
const std::set<string> runs = {"dl4_session_run", "dl4_session_predict", "dl4_stream_run", "dl4_stream_run_many"};

template <class T>
constexpr bool is_out_pointer = false;  // T **, an object that comes out
template <class T>
constexpr bool is_out_pointer<T **> = !std::is_const_v<T>;

template <class T>
constexpr bool is_object = std::is_pointer_v<T> && !std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, char> &&
                           std::is_class_v<std::remove_cv_t<std::remove_pointer_t<T>>>;

struct Out {  // one slot per out parameter, filled with rubbish
  void *slot[16];
  int used = 0;
  Out() { std::fill(std::begin(slot), std::end(slot), static_cast<void *>(this)); }
};

template <class R, class... A>
R call(R (*function)(A...), const std::tuple<A...> &arguments) {
  return std::apply(function, arguments);
}

template <class T>
T null(Out *out) {
  if constexpr (is_out_pointer<T>) {
    if (out) return reinterpret_cast<T>(&out->slot[out->used++]);
  }
  return T{};
}

// An object of another type than the one asked for.
template <class T>
T wrong(dl4_refs *refs, dl4_cancel *cancel, Out *out) {
  if constexpr (is_object<T>) {
    using Object = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_same_v<Object, dl4_refs>) return reinterpret_cast<T>(cancel);
    return reinterpret_cast<T>(refs);
  } else if constexpr (std::is_same_v<T, const char *>) {
    return "x";
  } else {
    return null<T>(out);
  }
}

void expect_refused(const string &name, dl4_error *e, const Out &out) {
  EXPECT_NE(e, nullptr) << name;
  EXPECT_EQ(dl4_error_code(e), DL4_INVALID_ARGUMENT) << name << ": " << dl4_error_message(e);
  EXPECT_STRNE(dl4_error_message(e), "") << name;
  EXPECT_TRUE(nlohmann::json::accept(dl4_error_detail(e))) << name;
  dl4_release(e);
  for (int i = 0; i < out.used; ++i) EXPECT_EQ(out.slot[i], nullptr) << name << ": out parameter left unset";
}

TEST(Arguments, TheListIsComplete) {
  std::ifstream file(DL4_SOURCE_DIR "/capi/dl4-api.json");
  std::set<string> described, listed;
  const auto description = nlohmann::json::parse(file);
  for (const auto &f : description["functions"]) described.insert(f["name"].get<string>());
  for_all([&](const string &name, auto) { listed.insert(name); });
  EXPECT_EQ(listed, described);
}

TEST(Arguments, NullForEveryPointerIsAnErrorOrNothing) {
  for_all([]<class R, class... A>(const string &name, R (*function)(A...)) {
    if constexpr (std::is_same_v<R, dl4_error *>) {
      dl4_error *e = call(function, std::tuple<A...>{});
      if (fine_with_null.count(name)) {
        EXPECT_EQ(e, nullptr) << name << ": " << dl4_error_message(e);
      } else {
        expect_refused(name, e, Out());
      }
    } else if constexpr (std::is_void_v<R>) {
      call(function, std::tuple<A...>{});
    } else if constexpr (sizeof...(A) > 0) {
      const R result = call(function, std::tuple<A...>{});
      if constexpr (std::is_same_v<R, const char *>) {
        if (name == "dl4_error_message" || name == "dl4_error_detail") {
          EXPECT_STREQ(result, name == "dl4_error_detail" ? "{}" : "");
          return;
        }
      }
      EXPECT_EQ(result, R{}) << name;
    }
  });
}

// What a parameter is, by the description; memory for one that comes out, filled with rubbish.
struct Described {
  nlohmann::json parameter{};
  int64_t memory[4] = {rubbish, rubbish, rubbish, rubbish};
  static constexpr int64_t rubbish = 0x5555555555555555;
};
constexpr int64_t asked = 4;  // of each array

template <class T>
T unset(const std::vector<Described> &all, Described &d) {
  if constexpr (std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>) {
    if (d.parameter["direction"] == "out") return reinterpret_cast<T>(d.memory);
  } else if constexpr (std::is_integral_v<T>) {
    for (const auto &p : all)
      if (p.parameter["direction"] == "out" && p.parameter.value("count", "") == d.parameter.value("name", ""))
        return static_cast<T>(asked);
  }
  return T{};
}

std::vector<Described> parameters_of(const nlohmann::json &functions, const string &name) {
  std::vector<Described> all;
  for (const auto &f : functions)
    if (f["name"] == name)
      for (const auto &p : f["parameters"]) all.push_back({p});
  return all;
}

// Pointers NULL, ids -1, counts and other numbers 0: also each of an array of ids.
void expect_cleared(const string &name, dl4_error *e, const std::vector<Described> &all) {
  for (const Described &d : all) {
    const string type = d.parameter["type"], what = name + ": " + d.parameter["name"].get<string>();
    const bool array = d.parameter.contains("count");
    if (d.parameter["direction"] != "out") continue;
    if (!e) {  // it needs nothing else
      EXPECT_NE(d.memory[0], Described::rubbish) << what;
      if (type.ends_with("**")) dl4_release(reinterpret_cast<void *>(d.memory[0]));
    } else if (type == "dl4_node *" || type == "dl4_layer *") {
      const auto *ids = reinterpret_cast<const dl4_node *>(d.memory);
      for (int64_t k = 0; k < (array ? asked : 1); ++k) EXPECT_EQ(ids[k], -1) << what << ' ' << k;
    } else if (type.ends_with("**") || (type == "int64_t *" && !array)) {
      EXPECT_EQ(d.memory[0], 0) << what;
    } else if (type == "int32_t *" && !array) {
      EXPECT_EQ(*reinterpret_cast<const int32_t *>(d.memory), 0) << what;
    }
  }
}

TEST(Arguments, EveryOutParameterIsClearedOnFailure) {
  std::ifstream file(DL4_SOURCE_DIR "/capi/dl4-api.json");
  const auto description = nlohmann::json::parse(file);
  for_all([&]<class R, class... A>(const string &name, R (*function)(A...)) {
    if constexpr (std::is_same_v<R, dl4_error *> && sizeof...(A) > 0) {
      std::vector<Described> all = parameters_of(description["functions"], name);
      ASSERT_EQ(all.size(), sizeof...(A)) << name;
      const auto arguments = [&]<size_t... I>(std::index_sequence<I...>) {
        return std::tuple<A...>{unset<A>(all, all[I])...};
      }
      (std::index_sequence_for<A...>());
      dl4_error *e = call(function, arguments);
      expect_cleared(name, e, all);
      dl4_release(e);
    }
  });
}

TEST(Arguments, HandlesOfTheWrongTypeAreRefused) {
  dl4_refs *refs = nullptr;
  dl4_cancel *cancel = nullptr;
  ASSERT_EQ(dl4_refs_create(&refs), nullptr);
  ASSERT_EQ(dl4_cancel_create(&cancel), nullptr);
  for_all([&]<class R, class... A>(const string &name, R (*function)(A...)) {
    if constexpr ((is_object<A> || ...)) {
      Out out;
      const std::tuple<A...> arguments{wrong<A>(refs, cancel, &out)...};
      if constexpr (std::is_same_v<R, dl4_error *>) {
        if (runs.count(name)) out.used = 0;
        expect_refused(name, call(function, arguments), out);
      } else if constexpr (std::is_void_v<R>) {
        call(function, arguments);
      } else {
        const R result = call(function, arguments);
        if constexpr (std::is_integral_v<R>) {
          EXPECT_EQ(result, R{}) << name;
        }
      }
    }
  });
  EXPECT_EQ(dl4_cancel_triggered(cancel), 0);
  dl4_release(refs);
  dl4_release(cancel);
}

TEST(Arguments, ObjectsOutliveTheirParentsInEveryOrder) {
  for (int order = 0; order < 6; ++order) {
    dl4_context *context = nullptr;
    dl4_graph *graph = nullptr;
    dl4_refs *refs = nullptr;
    dl4_model *model = nullptr;
    const int64_t dims[2] = {-1, 3};
    dl4_node x, y;
    ASSERT_EQ(dl4_context_create(nullptr, &context), nullptr);
    ASSERT_EQ(dl4_graph_create(context, &graph), nullptr);
    ASSERT_EQ(dl4_refs_create(&refs), nullptr);
    ASSERT_EQ(dl4_graph_add_input(graph, "x", DL4_FLOAT32, 2, dims, &x), nullptr);
    ASSERT_EQ(dl4_graph_add(graph, "Dense", nullptr, R"({"units": 2})", nullptr, refs, &x, 1, &y, 1), nullptr);
    ASSERT_EQ(dl4_graph_build(graph, &x, 1, &y, 1, &model), nullptr);
    void *parents[3] = {context, graph, refs};
    for (int i = 0; i < 3; ++i) {
      const int at = (order + (order < 3 ? i : 2 - i)) % 3;
      dl4_release(std::exchange(parents[at], nullptr));
    }
    dl4_session *session = nullptr;
    ASSERT_EQ(dl4_session_create(model, nullptr, &session), nullptr);
    dl4_release(model);
    const int64_t shape[2] = {4, 3};
    dl4_tensor *in = nullptr, *out = nullptr;
    ASSERT_EQ(dl4_tensor_create(nullptr, DL4_FLOAT32, 2, shape, &in), nullptr);
    ASSERT_EQ(dl4_session_run(session, &in, 1, &out, 1, nullptr), nullptr);
    EXPECT_EQ(dl4_tensor_bytes(out), 4 * 2 * 4);
    dl4_release(session);
    dl4_release(in);
    dl4_release(out);
  }
}

}  // namespace
}  // namespace DL4_FILE
