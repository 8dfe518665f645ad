// Keras's arithmetic operations, as layers.
#include <cmath>

#include "io/keras/json.hpp"
#include "io/keras/operation.hpp"
#include "kinds/layers/elementwise/functions.hpp"

namespace dl4::io::keras {

using Nodes = std::vector<Node>;

// A Python number takes the type of the other operand, except a float with integers.
Operation::Pair Operation::pair(size_t first, size_t second) {
  Pair p{{}, {}, DType::boolean};
  bool floats = false, numbers = false;
  for (size_t i : {first, second}) {
    if (is_number(i)) {
      numbers = numbers || args_[i].is_integer();
      floats = floats || (args_[i].is_number() && !args_[i].is_integer());
    } else {
      const Node v = at(i);
      p.type = p.first ? kinds::joined_type(p.type, dtype(v)) : dtype(v);
      (i == first ? p.first : p.second) = v;
    }
  }
  if (p.type == DType::string && (floats || numbers)) refuse("has strings and a number");
  if (floats) p.type = DType::f32;
  if (numbers && p.type == DType::boolean) p.type = DType::i32;
  for (std::optional<Node> *v : {&p.first, &p.second})
    if (*v) *v = cast(**v, p.type);
  return p;
}

Nodes Operation::add_pairwise(const std::string &kind) {
  if (args_.size() != 2) refuse("has ", args_.size(), " arguments, expected two");
  const auto [a, b, type] = pair(0, 1);
  if ((kind == "Power" || kind == "SquaredDifference") && type != DType::f32) refuse("gives ", type);
  if (!a && !b) refuse("has no tensor");
  if (!a) return finish(kind, {{"x1", number(0)}}, {*b});
  if (!b) return finish(kind, {{"x2", number(1)}}, {*a});
  return finish(kind, Json::object(), {*a, *b});
}

// Converts integers to float, unless the function keeps them.
Nodes Operation::add_elementwise(const std::string &kind) {
  using Takes = kinds::Function::Takes;
  const Node x = only();
  const kinds::Function *known = kinds::function(kind);
  const Takes takes = known                                                            ? known->takes
                      : is_any(kind, {"Sort", "Argsort", "TopK", "Cumsum", "Cumprod"}) ? Takes::numbers
                                                                                       : Takes::floats;
  const bool wide = dtype(x) == DType::i32 || dtype(x) == DType::i64;
  if (dtype(x) == DType::f32 || takes == Takes::any || takes == Takes::flags || (wide && takes == Takes::numbers))
    return finish(kind, config_, {x});
  if (known && takes == Takes::numbers) refuse("gives ", dtype(x));
  return finish(kind, config_, {cast(x, DType::f32)});
}

Nodes Operation::add_reduction(const std::string &kind) {
  const Node x = only();
  const bool flags = kind == "Any" || kind == "All", means = kind == "Mean" || kind == "Var" || kind == "Std";
  need_no_more_than({"axis", "keepdims"});
  const bool wide = dtype(x) == DType::i32 || dtype(x) == DType::i64;
  if (dtype(x) == DType::f32 || flags || (wide && !means && kind != "Logsumexp")) return finish(kind, config_, {x});
  if (means || kind == "Logsumexp") return finish(kind, config_, {cast(x, DType::f32)});
  if (dtype(x) != DType::boolean || kind != "Sum") refuse("gives ", dtype(x));
  return finish("Cast", {{"to", "int32"}}, {layer(kind, config_, {cast(x, DType::f32)})});
}

Nodes Operation::add_where() {
  if (args_.size() != 3) refuse("has ", args_.size(), " arguments, expected three");
  const auto [a, b, type] = pair(1, 2);
  Nodes in{at(0)};
  Json config = Json::object();
  if (a)
    in.push_back(*a);
  else
    config["x1"] = number(1);
  if (b)
    in.push_back(*b);
  else
    config["x2"] = number(2);
  if (!a && !b && type != DType::f32)
    return finish("Cast", {{"to", to_string(type)}}, {layer("Where", std::move(config), in)});
  return finish("Where", std::move(config), in);
}

// Zeros or ones in the shape of a value.
Nodes Operation::add_filled() {
  const Node x = only();
  need_no_more_than({"dtype"});
  const DType to = dtype_from(config_.value("dtype", to_string(dtype(x))).get<std::string>());
  const bool ones = class_ == "OnesLike";
  const Node never = layer("Less", Json::object(), {x, x});
  if (to == DType::f32) return finish("Where", {{"x1", ones ? 0 : 1}, {"x2", ones ? 1 : 0}}, {never});
  const Node flags = ones ? layer("LogicalNot", Json::object(), {never}) : never;
  return to == DType::boolean ? finish_as(flags) : finish("Cast", {{"to", to_string(to)}}, {flags});
}

Nodes Operation::add_rounded() {
  const Node x = only();
  const auto decimals = config_.value("decimals", Json(0)).get<int64_t>();
  if (dtype(x) != DType::f32) return decimals >= 0 ? finish_as(x) : (refuse("rounds ", dtype(x), " to tens"), Nodes());
  if (decimals == 0) return finish("Round", Json::object(), {x});
  const double factor = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  const char *there = decimals > 0 ? "BroadcastMultiply" : "Divide",
             *back = decimals > 0 ? "Divide" : "BroadcastMultiply";
  return finish(back, {{"x2", factor}}, {layer("Round", Json::object(), {with_number(there, x, factor)})});
}

Nodes Operation::add_activation() {
  Node x = only();
  if (class_ == "LogSoftmax" || class_ == "Sparsemax" || class_ == "Glu") {
    const int64_t along = axis(config_.value("axis", -1), x);
    if (along != rank(x) - 1) refuse("has an axis other than the last");
    config_.erase("axis");
  }
  const bool whole = dtype(x) != DType::f32;
  if (whole && (class_ == "Relu" || class_ == "Relu6")) {
    const Node y = layer("BroadcastMaximum", {{"x2", 0}}, {x});
    return class_ == "Relu" ? finish_as(y) : finish("BroadcastMinimum", {{"x2", 6}}, {y});
  }
  x = cast(x, DType::f32);
  const std::string function = kinds::snake_case(class_);
  return finish("Activation", {{"activation", {{"class_name", function}, {"config", config_}}}}, {x});
}

Nodes Operation::add_cast() {
  const Node x = only();
  const Json to = given("dtype");
  if (!to.is_string()) refuse("has no dtype");
  const std::string name = to.get<std::string>();
  // Float types of files are float32 here.
  return finish("Cast", {{"to", name == "float16" || name == "bfloat16" || name == "float64" ? "float32" : name}}, {x});
}

// A value's mask, or nothing: not an operation of Keras 3, but of the JSON of earlier versions.
Nodes Operation::add_mask() {
  const Node x = only();
  return g_.masked(x) ? finish("GetMask", Json::object(), {x}) : Nodes{graph::no_node};
}

// A value as a tensor for attention masks: unchanged, with its mask.
Nodes Operation::add_same() {
  need_no_more_than({"dtype"});
  if (class_ == "Copy") return finish_as(only());
  return finish("Identity", Json::object(), {only()});
}

// Vector or matrix norms.
Nodes Operation::add_norm() {
  Node x = cast(only(), DType::f32);
  const Json order = given("ord"), along = given("axis");
  const bool keep = flag("keepdims", false);
  std::vector<int64_t> over = axes(along, x);
  if (along.is_null() && !order.is_null() && rank(x) > 2) refuse("has an \"ord\" for rank ", rank(x));
  const auto reduced = [&](const char *kind, Node v) {
    return Nodes{v, layer(kind, {{"axis", over}, {"keepdims", keep}}, {v})}[1];
  };
  const auto finished = [&](const char *kind, Node v) {
    return finish(kind, {{"axis", over}, {"keepdims", keep}}, {v});
  };
  const bool matrix = over.size() == 2 && !order.is_null();
  if (order.is_null() || (matrix && order == "fro") || (over.size() == 1 && (order == "euclidean" || order == 2))) {
    return finish("Sqrt", Json::object(), {reduced("Sum", layer("Square", Json::object(), {x}))});
  }
  const Node size = layer("Absolute", Json::object(), {x});
  if (matrix || over.size() != 1) {
    const bool rows = order == "inf" || order == "-inf";
    if (!(order == 1 || order == -1 || rows)) refuse("has \"ord\": ", order.shown(), " for matrices");
    const bool least = order == -1 || order == "-inf";
    const Node sums = layer("Sum", {{"axis", Json::array({over[rows ? 1 : 0]})}, {"keepdims", true}}, {size});
    return finished(least ? "Min" : "Max", sums);
  }
  if (order == "inf" || order == "-inf") return finished(order == "inf" ? "Max" : "Min", size);
  if (!order.is_number()) refuse("has \"ord\": ", order.shown());
  const auto p = order.get<double>();
  if (p == 1) return finished("Sum", size);
  if (p == 0) return finished("Sum", cast(with_number("NotEqual", x, 0), DType::f32));
  return finish("Power", {{"x2", 1 / p}}, {reduced("Sum", with_number("Power", size, p))});
}

Nodes Operation::add_normalize() {
  const Node x = cast(only(), DType::f32);
  const Json order = config_.value("order", 2), least = config_.value("epsilon", nullptr);
  const double epsilon = least.is_number() ? least.get<double>() : 1e-7;
  const Json how = {{"axis", Json::array({axis(config_.value("axis", -1), x)})}, {"keepdims", true}};
  if (!order.is_number()) refuse("has \"order\": ", order.shown());
  const auto p = order.get<double>();
  if (p == 2) {
    const Node sum = layer("Sum", how, {layer("Square", Json::object(), {x})});
    const Node by = with_number("BroadcastMinimum", layer("Rsqrt", Json::object(), {sum}), 1 / epsilon);
    return finish("BroadcastMultiply", Json::object(), {x, by});
  }
  Node size = layer("Absolute", Json::object(), {x});
  if (p == 1)
    size = layer("Sum", how, {size});
  else
    size = with_number("Power", layer("Sum", how, {with_number("Power", size, p)}), 1 / p);
  return finish("Divide", Json::object(), {x, with_number("BroadcastMaximum", size, epsilon)});
}

Nodes Operation::add_moments() {
  const Node x = cast(only(), DType::f32);
  if (flag("synchronized", false)) refuse("has \"synchronized\": true");
  const Json how = {{"axis", axes(given("axes"), x)}, {"keepdims", flag("keepdims", false)}};
  const Node mean = finish("Mean", how, {x})[0];
  return {mean, layer("Var", how, {x})};
}

// Vectors are treated as matrices of one row or column, which is removed from the product.
Nodes Operation::add_matmul() {
  Node a = at(0), b = at(1);
  if (dtype(a) != DType::f32 && dtype(b) != DType::f32) refuse("gives ", kinds::joined_type(dtype(a), dtype(b)));
  a = cast(a, DType::f32), b = cast(b, DType::f32);
  const bool row = rank(a) == 1, column = rank(b) == 1;
  if (row) a = layer("ExpandDims", {{"axis", Json::array({0})}}, {a});
  if (column) b = layer("ExpandDims", {{"axis", Json::array({1})}}, {b});
  if (!row && !column) return finish("MatMul", config_, {a, b});
  const Node y = layer("MatMul", config_, {a, b});
  Json gone = Json::array();
  if (row) gone.push_back(-2);
  if (column) gone.push_back(-1);
  return finish("Squeeze", {{"axis", std::move(gone)}}, {y});
}

Nodes Operation::add_one_hot() {
  const Node x = only();
  need_no_more_than({"num_classes", "axis", "dtype"});
  Json config = config_;
  config.erase("sparse");
  if (config.value("dtype", nullptr).is_null()) config["dtype"] = "float32";
  // Keras casts float ids.
  return finish("OneHot", std::move(config), {dtype(x) == DType::f32 ? cast(x, DType::i32) : x});
}

Nodes Operation::add_einsum() {
  Nodes in;
  size_t first = 0;
  Json equation = given("subscripts");
  if (equation.is_null() && !args_.empty() && args_[0].is_string()) equation = args_[first++];
  for (; first < args_.size(); ++first) {
    if (args_[first].is_array() && !numbers_of(args_[first]))
      for (const Json &j : args_[first]) in.push_back(value(j));
    else
      in.push_back(at(first));
  }
  return finish("Einsum", {{"subscripts", equation}}, in);
}

Nodes Operation::add_sum() {
  Nodes all = listed();
  while (all.size() > 2) {
    all[0] = layer("BroadcastAdd", Json::object(), {all[0], all[1]});
    all.erase(all.begin() + 1);
  }
  return all.size() == 1 ? finish_as(all[0]) : finish("BroadcastAdd", Json::object(), all);
}

Nodes Operation::add_argmax() {
  Node x = only();
  need_no_more_than({"axis", "keepdims", "dtype"});
  const bool wide = dtype(x) == DType::i32 || dtype(x) == DType::i64;
  if (!wide) x = cast(x, DType::f32);
  if (class_ == "Argmin")  // integers: -1 - x, which can't overflow
    x = wide ? layer("BroadcastSubtract", {{"x1", -1}}, {x}) : layer("Negative", Json::object(), {x});
  Json config = {{"axis", given("axis")}, {"keepdims", flag("keepdims", false)}};
  if (given("axis").is_null()) {
    x = layer("ReshapeBatch", {{"shape", Json::array({-1})}}, {x});
    config["axis"] = 0;
  }
  if (!(given("dtype") == "int64")) return finish("Argmax", std::move(config), {x});
  return finish("Cast", {{"to", "int64"}}, {layer("Argmax", std::move(config), {x})});
}

}  // namespace dl4::io::keras
