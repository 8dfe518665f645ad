// Converts TensorFlow functions between layers as tf.keras wrote them, TFOpLambda and SlicingOpLambda, to operations of
// Keras 3.
#include <cmath>

#include "io/keras/json.hpp"

namespace dl4::io::keras {
namespace {

struct TensorFlowFunctions {
  std::string_view functions, name;  // name: Keras's class; empty: the function's own as one
  std::string_view operands{};       // operands after the first
  std::string_view attributes{};     // the others, renamed as in Keras: "alpha=negative_slope"
};

constexpr TensorFlowFunctions functions[] = {
    {"__operators__.add math.add math.subtract math.multiply math.maximum math.minimum math.squared_difference "
     "math.equal math.not_equal math.less math.less_equal math.greater math.greater_equal math.logical_and "
     "math.logical_or math.logical_xor",
     "", "y"},
    {"__operators__.ragged_getitem", "GetItem", "key"},
    {"math.divide math.truediv compat.v1.div realdiv", "TrueDivide", "y"},
    {"math.floordiv", "FloorDivide", "y"},
    {"math.floormod", "Mod", "y"},
    {"math.pow", "Power", "y"},
    {"math.atan2", "Arctan2", "x"},
    {"__operators__.eq", "Equal", "other"},
    {"__operators__.ne", "NotEqual", "other"},
    {"math.logical_not math.add_n math.negative math.sign math.square math.sqrt math.rsqrt math.reciprocal math.exp "
     "math.expm1 math.log math.log1p math.sin math.cos math.tan math.sinh math.cosh math.tanh math.erf math.floor "
     "math.ceil math.round math.sigmoid math.log_sigmoid math.softplus math.softsign nn.sigmoid nn.relu nn.relu6 "
     "nn.elu nn.selu nn.silu nn.softsign nn.softplus nn.tanh stop_gradient linalg.matrix_transpose",
     ""},
    {"nn.bias_add", "Add", "bias"},
    {"math.abs", "Absolute"},
    {"math.asin", "Arcsin"},
    {"math.acos", "Arccos"},
    {"math.atan", "Arctan"},
    {"math.asinh", "Arcsinh"},
    {"math.acosh", "Arccosh"},
    {"math.atanh", "Arctanh"},
    {"math.rint", "Round"},
    {"math.is_nan", "Isnan"},
    {"math.is_inf", "Isinf"},
    {"math.is_finite", "Isfinite"},
    {"nn.swish", "Silu"},
    {"nn.gelu", "", "", "approximate"},
    {"nn.leaky_relu", "", "", "alpha=negative_slope"},
    {"nn.softmax nn.log_softmax math.softmax math.log_softmax expand_dims squeeze compat.v1.squeeze stack", "", "",
     "axis"},
    {"math.l2_normalize nn.l2_normalize", "Normalize", "", "axis epsilon"},
    {"nn.moments", "", "", "axes keepdims"},
    {"linalg.norm norm", "", "", "ord axis keepdims"},
    {"math.reduce_euclidean_norm", "Norm", "", "axis keepdims"},
    {"math.reduce_mean", "Mean", "", "axis keepdims"},
    {"math.reduce_sum", "Sum", "", "axis keepdims"},
    {"math.reduce_max", "Max", "", "axis keepdims"},
    {"math.reduce_min", "Min", "", "axis keepdims"},
    {"math.reduce_prod", "Prod", "", "axis keepdims"},
    {"math.reduce_std", "Std", "", "axis keepdims"},
    {"math.reduce_variance", "Var", "", "axis keepdims"},
    {"math.reduce_logsumexp", "Logsumexp", "", "axis keepdims"},
    {"math.reduce_any", "Any", "", "axis keepdims"},
    {"math.reduce_all", "All", "", "axis keepdims"},
    {"math.argmax math.argmin", "", "", "axis output_type=dtype"},
    {"compat.v1.argmax", "", "", "axis dimension=axis output_type=dtype"},
    {"math.cumsum math.cumprod", "", "", "axis exclusive reverse"},
    {"math.top_k nn.top_k", "", "", "k sorted"},
    {"sort argsort", "", "", "axis direction"},
    {"linalg.matmul", "", "b", "transpose_a transpose_b"},
    {"tensordot", "", "b", "axes"},
    {"cast zeros_like ones_like compat.v1.zeros_like compat.v1.ones_like", "", "", "dtype"},
    {"compat.v1.to_float", "Cast"},
    {"clip_by_value", "Clip", "", "clip_value_min=x_min clip_value_max=x_max"},
    {"where", "", "x y"},
    {"compat.v1.where_v2", "Where", "x y"},
    {"one_hot", "", "", "depth=num_classes axis dtype"},
    {"identity convert_to_tensor", "Copy"},
    {"reshape", "", "", "shape=newshape"},
    {"transpose compat.v1.transpose", "", "", "perm=axes"},
    {"compat.v1.expand_dims", "", "", "axis dim=axis"},
    {"concat", "Concatenate", "", "axis"},
    {"unstack", "", "", "axis num"},
    {"split", "", "", "num_or_size_splits=indices_or_sections axis num"},
    {"tile", "", "", "multiples=repeats"},
    {"pad compat.v1.pad", "", "", "paddings=pad_width mode constant_values"},
    {"repeat", "", "", "repeats axis"},
    {"reverse", "Flip", "", "axis"},
    {"roll", "", "", "shift axis"},
    {"gather compat.v1.gather", "Take", "indices", "axis"},
    {"nn.embedding_lookup", "Take", "ids"},
    {"broadcast_to", "", "", "shape"},
    {"nn.max_pool", "", "", "ksize=pool_size strides padding"},
    {"nn.max_pool1d nn.max_pool2d nn.max_pool3d", "MaxPool", "", "ksize=pool_size strides padding"},
    {"nn.avg_pool nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d", "AveragePool", "", "ksize=pool_size strides padding"},
    {"nn.depth_to_space nn.space_to_depth compat.v1.depth_to_space compat.v1.space_to_depth", "", "", "block_size"},
    {"image.resize", "", "", "size method=interpolation"},
    {"image.flip_left_right", "FlipWidth"},
};

[[noreturn]] void refuse(const std::string &layer, const std::string &function, const std::string &why) {
  throw of_layer(Code::unsupported, layer, text("the function tf.", function, ' ', why));
}

// Splits at spaces.
std::vector<std::string> words(std::string_view s) {
  std::vector<std::string> list;
  for (size_t at = 0, end; at < s.size(); at = end + 1) {
    end = std::min(s.find(' ', at), s.size());
    if (end > at) list.emplace_back(s.substr(at, end - at));
  }
  return list;
}

// "LogSigmoid" for "math.log_sigmoid".
std::string class_of(std::string_view function) {
  std::string name;
  bool begins = true;
  for (char c : function.substr(function.rfind('.') + 1)) {
    if (c != '_') name += begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '_';
  }
  return name;
}

// Slices in Keras 3's form: in a list, null is a new axis.
Json item(const Json &spec) {
  if (spec.is_array()) {
    Json list = Json::array();
    for (const Json &s : spec) list.push_back(item(s));
    return list;
  }
  if (spec.is_object() && spec.contains("start") && !spec.contains("class_name"))
    return {{"class_name", "__slice__"}, {"config", spec}};
  return spec;
}

// Adjusts attributes with another meaning or default.
void say_as_keras(const std::string &layer, const std::string &function, const std::string &name, Json &config) {
  const auto otherwise = [&](const char *key, Json v) {
    const Json *given = config.find(key);
    if (!given || given->is_null()) config[key] = std::move(v);
  };
  if (name == "Gelu") otherwise("approximate", false);
  if (name == "LeakyRelu") otherwise("negative_slope", 0.2);
  if (name == "Clip")
    for (const char *key : {"x_min", "x_max"})
      if (!config.value(key, nullptr).is_number()) refuse(layer, function, "has a bound that is not a number");
  if (name == "Concatenate" || name == "Cumsum" || name == "Cumprod" || name == "Argmax" || name == "Argmin" ||
      name == "Unstack" || name == "Split" || name == "Stack" || name == "Take")
    otherwise("axis", 0);
  if (name == "Argmax" || name == "Argmin") otherwise("dtype", "int64");
  if (function == "compat.v1.to_float") config["dtype"] = "float32";
  if (name == "Normalize") {
    const Json epsilon = config.value("epsilon", 1e-12);
    config["epsilon"] = std::sqrt(epsilon.get<double>());  // it applies to the sum of squares
  }
  if (name == "Norm" && config.value("ord", nullptr) == "euclidean") config["ord"] = nullptr;
  if (name == "Split" && config["indices_or_sections"].is_array()) {
    Json bounds = Json::array();
    int64_t sum = 0;
    for (const Json &size : config["indices_or_sections"]) bounds.push_back(sum += size.get<int64_t>());
    Json inner = Json::array();
    for (size_t i = 0; i + 1 < bounds.size(); ++i) inner.push_back(Json(bounds[i]));
    config["indices_or_sections"] = std::move(inner);
  }
  if (name == "Split" || name == "Unstack") config.erase("num");
  for (const char *key : {"mode", "padding", "direction"})
    if (const Json *v = config.find(key); v && v->is_string()) {
      std::string s = v->get<std::string>();
      std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      config[key] = s;
    }
  if (name == "Sort" || name == "Argsort") {
    config["descending"] = config.value("direction", "ascending") == "descending";
    config.erase("direction");
    otherwise("axis", -1);
  }
  if (name == "OneHot") otherwise("axis", -1), otherwise("dtype", "float32");
  if (name == "TopK") otherwise("k", 1), otherwise("sorted", true);
  if (name == "Resize") otherwise("interpolation", "bilinear");
  if (name == "MaxPool" || name == "AveragePool")
    for (const char *key : {"pool_size", "strides"})
      if (const Json v = config.value(key, nullptr);
          v.is_array() && v.size() > 2 && v[0] == 1 && v[v.size() - 1] == 1) {
        Json inner = Json::array();
        for (size_t i = 1; i + 1 < v.size(); ++i) inner.push_back(Json(v[i]));
        config[key] = std::move(inner);
      }
}

}  // namespace

Json of_tensorflow(const Json &layer, const std::function<Json(const Json &)> &as_tensor) {
  const Json &given = layer.at("config");
  const std::string who = given.at("name").get<std::string>(), function = given.at("function").get<std::string>();
  const bool slices = layer.at("class_name") == "SlicingOpLambda";
  const auto *row = std::find_if(std::begin(functions), std::end(functions), [&](const TensorFlowFunctions &f) {
    const auto all = words(f.functions);
    return std::find(all.begin(), all.end(), function) != all.end();
  });
  if (!slices && row == std::end(functions)) refuse(who, function, "is not supported");
  const std::string name = slices ? "GetItem" : row->name.empty() ? class_of(function) : std::string(row->name);
  const std::vector<std::string> operands = words(slices ? "" : row->operands),
                                 attributes = words(slices ? "" : row->attributes);
  Json config{{"name", who}}, nodes = Json::array();
  for (const Json &node : layer.at("inbound_nodes")) {
    const bool one = node.is_array() && !node.empty() && node[0].is_string();
    const Json refs = one ? Json::array({node}) : node;
    Json first = Json::array(), args = Json::array(), said = Json::object(), kwargs = Json::object();
    for (const Json &ref : refs) {
      if (!ref.is_array() || ref.size() < 3) refuse(who, function, "has an invalid operand: " + ref.shown());
      first.push_back(ref[0] == "_CONSTANT_VALUE" ? Json(ref[2]) : as_tensor(Json::array({ref[0], ref[1], ref[2]})));
      if (ref.size() > 3) said.update(ref[3]);
    }
    args.push_back(one ? Json(first[0]) : std::move(first));
    if (slices) args.push_back(item(as_tensor(said.value("slice_spec", nullptr))));
    for (const std::string &key : operands) {
      if (const Json *v = said.find(key); v && !v->is_null())
        args.push_back(as_tensor(*v));
      else
        refuse(who, function, "has no \"" + key + '"');
    }
    for (const auto &[key, v] : said.items()) {
      if (v.is_null() || key == "name" || key == "slice_spec" || v == false ||
          std::find(operands.begin(), operands.end(), key) != operands.end())
        continue;
      if ((key == "batch_dims" && v == 0) ||
          (key == "data_format" && v.is_string() && v.get<std::string>().ends_with("C")))
        continue;
      const auto is_it = [&, &word = key](const std::string &a) {
        return a == word || a.starts_with(std::string(word) + '=');
      };
      const auto a = std::find_if(attributes.begin(), attributes.end(), is_it);
      if (a == attributes.end()) refuse(who, function, text("has \"", key, "\": ", v.shown()));
      kwargs[a->substr(a->find('=') == a->npos ? 0 : a->find('=') + 1)] = as_tensor(v);
    }
    say_as_keras(who, function, name, kwargs);
    nodes.push_back({{"args", std::move(args)}, {"kwargs", std::move(kwargs)}});
  }
  return {{"module", "keras.src.ops.tensorflow"},
          {"class_name", name},
          {"config", std::move(config)},
          {"name", who},
          {"inbound_nodes", std::move(nodes)}};
}

}  // namespace dl4::io::keras
