// LoRA: attributes, weights and product.
// Quantized kernels: modes as JSON, weights, products.
#include "kinds/layers/core/quantization.hpp"

#include <charconv>
#include <cmath>


namespace dl4::kinds {

using ops::Id;

void Lora::fields(Fields &f) {
  f("lora_rank", rank,
    "the rank of LoRA, as in Keras: the columns of lora_..._a and the rows of lora_..._b. Their product times "
    "lora_alpha / lora_rank is added to the kernel, which is not trained; null: no LoRA")
      .within(1, max_dim);
  f("lora_alpha", alpha, "the scale of LoRA, times lora_rank; null: lora_rank");
}

void Lora::check(const Of<Constraint> &kernel_constraint, const Quantized &quantization) const {
  if (!rank) return;
  if (kernel_constraint) unsupported_attribute("lora_rank", "LoRA is incompatible with a constraint of the kernel");
  if (quantization && quantization->turned())
    unsupported_attribute("lora_rank", "LoRA is not supported with a kernel of \"", quantization->name(), '"');
}

LoraKernel::Factors LoraKernel::factors(Call &c) const {
  static const auto he = parse<Initializer>("HeUniform"), zeros = parse<Initializer>("Zeros");
  const auto factor = [&](const char *end, const Shape &of, const Of<Initializer> &initializer) {
    WeightSpec spec{names + end, of, initializer, regularizer, {}};
    spec.lora = true;
    return c.host.weight(spec);
  };
  const Id a = factor("_a", shape.with(-1, *lora.rank), he);
  return {a, factor("_b", {*lora.rank, shape.last()}, zeros)};
}

Id LoraKernel::added(Call &c, Id kernel) const {
  if (!lora) return kernel;
  ops::Emit &e = c.e;
  const auto [a, b] = factors(c);
  const Id rows = shape.rank() == 2 ? a : ops::reshape(e, a, 0, {-1, *lora.rank});
  Id product = ops::matmul(e, rows, b);
  if (shape.rank() != 2) product = ops::reshape(e, product, 0, shape);
  return ops::add(e, kernel, ops::scale(e, product, static_cast<float>(lora.scale())));
}

Id LoraKernel::apart(Call &c, const std::function<Id(Id)> &by_a) const {
  const auto [a, b] = factors(c);
  return ops::scale(c.e, ops::matmul(c.e, by_a(a), b), static_cast<float>(lora.scale()));
}

template <>
const Conversion &conversion<LoraByName>() {
  static constexpr Conversion c{"attrs", nullptr,
                                [](const Json &j, void *to) {
                                  LoraByName list;
                                  if (!j.is_null() && !j.is_object())
                                    expected("null or an object of {\"rank\", \"alpha\"} by projection", j);
                                  for (const auto &[key, value] : j.items()) {
                                    const Json *rank = value.find("rank"), *alpha = value.find("alpha");
                                    const bool given = alpha && !alpha->is_null();
                                    if (!rank || value.size() != (alpha ? 2u : 1u))
                                      expected("{\"rank\", \"alpha\"}", value);
                                    Lora &l = list[std::string(key)];
                                    l.rank = from_json<int64_t>(*rank);
                                    if (*l.rank < 1 || *l.rank > max_dim)
                                      expected(text("a \"rank\" from 1 to ", max_dim), value);
                                    if (given) l.alpha = from_json<double>(*alpha);
                                  }
                                  *static_cast<LoraByName *>(to) = std::move(list);
                                },
                                [](const void *from) {
                                  Json j = Json::object();
                                  for (const auto &[name, l] : *static_cast<const LoraByName *>(from))
                                    j[name] = Json{{"rank", *l.rank}, {"alpha", l.alpha ? Json(*l.alpha) : Json()}};
                                  return j.size() ? j : Json();
                                }};
  return c;
}

namespace {

using ops::Binary;
using ops::Emit;
using ops::none;

constexpr const char *modes[] = {"int8", "int4", "gptq", "awq"};
constexpr char mode_words[] = "\"int8\", \"int4/block\", \"gptq/bits/block\" or \"awq/4/block\"";

[[noreturn]] void refuse_mode(const std::string &name) {
  const bool float8 = name.starts_with("float8");
  throw Error(float8 ? Code::unsupported : Code::invalid_argument,
              text("expected ", mode_words, ", got \"", name, '"', float8 ? ": float8 is not supported" : ""));
}

std::vector<std::string> split(const std::string &s) {
  std::vector<std::string> parts;
  for (size_t at = 0, end = 0; at <= s.size(); at = end + 1) {
    end = std::min(s.find('/', at), s.size());
    parts.push_back(s.substr(at, end - at));
  }
  return parts;
}

int64_t number_of(const std::string &word, const std::string &name) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc() || end != word.data() + word.size()) refuse_mode(name);
  return n;
}

Quantization::Inputs inputs_of(const Json &j) {
  Quantization::Inputs in;
  if (!j.is_object()) expected("null or an object with \"value_range\" and \"epsilon\"", j);
  for (const auto &[key, value] : j.items()) {
    if (key == "epsilon" && value.is_number()) {
      in.epsilon = value.get<double>();
    } else if (key == "value_range" && value.is_array() && value.size() == 2 && value[0].is_number() &&
               value[1].is_number()) {
      in.least = value[0].get<double>(), in.most = value[1].get<double>();
    } else {
      expected("\"value_range\" as two numbers and \"epsilon\" as one", j);
    }
  }
  const bool whole = in.least == std::round(in.least) && in.most == std::round(in.most);
  if (!whole || in.least < -128 || in.most > 127 || in.most < 1 || in.least > 0)
    expected("a \"value_range\" of whole numbers from -128 to 127 around 0", j);
  if (!(in.epsilon > 0) || std::isinf(in.epsilon)) expected("an \"epsilon\" above 0", j);
  return in;
}

Quantized quantized_of(const Json &j) {
  if (j.is_null()) return std::nullopt;
  if (j.is_string()) return Quantization::of(j.get<std::string>());
  const Json *mode = j.is_object() ? j.find("mode") : nullptr;
  if (!mode || !mode->is_string()) expected(text("null, ", mode_words, " or an object with that as \"mode\""), j);
  Quantization q = Quantization::of(mode->get<std::string>());
  for (const auto &[key, value] : j.items()) {
    if (key == "mode") continue;
    if (key != "inputs") expected("\"mode\" and \"inputs\"", j);
    q.inputs.reset();
    if (!value.is_null()) q.inputs = inputs_of(value);
  }
  if (q.inputs && q.turned()) expected(text("null as the \"inputs\" of ", q.name()), j);
  return q;
}

Json json_of(const Quantized &q) {
  if (!q) return nullptr;
  Json j{{"mode", q->name()}, {"inputs", nullptr}};
  if (q->inputs)
    j["inputs"] = {{"value_range", Json::array({q->inputs->least, q->inputs->most})}, {"epsilon", q->inputs->epsilon}};
  return j;
}

Id number(Emit &e, double v) { return e.scalar(v, DType::f32); }

Id weight(Call &c, const std::string &name, const Shape &shape, const char *initializer, DType dtype) {
  kinds::WeightSpec spec{name, shape, parse<Initializer>(initializer), nullptr, nullptr, false};
  spec.dtype = dtype;
  return c.host.weight(spec);
}

// For attention kernels, Keras chooses among three axes by the largest which of them are rows.
int64_t turned_rows(const Quantization &q, const KernelProduct &p) {
  const Shape &k = p.kernel;
  if (k.rank() == 2) return k[0];
  if (k.rank() != 3)
    fail(Code::unsupported, "\"quantization\": ", q.name(), " is for kernels of two or three axes, not ", k);
  return k[0] >= k[1] && k[0] >= k[2] ? k[0] : checked_mul(k[0], k[1]);
}

}  // namespace

std::string Quantization::name() const {
  const std::string word = modes[static_cast<int>(mode)];
  if (mode == Mode::int8) return word;
  return mode == Mode::int4 ? text(word, '/', block) : text(word, '/', bits, '/', block);
}

Quantization Quantization::of(const std::string &name) {
  const std::vector<std::string> parts = split(name);
  const auto at = std::find(std::begin(modes), std::end(modes), parts[0]);
  if (at == std::end(modes)) refuse_mode(name);
  Quantization q;
  q.mode = static_cast<Mode>(at - std::begin(modes));
  if (q.mode != Mode::int8) q.bits = 4;
  const size_t wanted = q.turned() ? 3 : q.mode == Mode::int4 ? 2 : 1;
  // Before 3.15, Keras had one scale per column only, and no row count in the name.
  if (parts.size() != wanted && name != "int4") refuse_mode(name);
  if (wanted == 3) q.bits = number_of(parts[1], name);
  if (wanted > 1 && parts.size() > 1) q.block = number_of(parts.back(), name);
  const bool bits_fit = q.mode == Mode::gptq ? q.bits == 2 || q.bits == 3 || q.bits == 4 || q.bits == 8
                                             : q.bits == (q.mode == Mode::int8 ? 8 : 4);
  if (!bits_fit || q.block == 0 || q.block < -1 || q.block > max_dim) refuse_mode(name);
  if (q.mode == Mode::int8) q.inputs = Inputs{};
  return q;
}

template <>
const Conversion &conversion<Quantized>() {
  static constexpr Conversion c{"attrs", nullptr,
                                [](const Json &j, void *to) { *static_cast<Quantized *>(to) = quantized_of(j); },
                                [](const void *from) { return json_of(*static_cast<const Quantized *>(from)); }};
  return c;
}

Id bytes_weight(Call &c, const std::string &name, const Shape &shape) {
  return weight(c, name, shape, "Zeros", DType::u8);
}
Id scale_weight(Call &c, const std::string &name, const Shape &shape) {
  return weight(c, name, shape, "Ones", DType::f32);
}
Id groups_weight(Call &c, const std::string &name, int64_t size) {
  return weight(c, name, {size}, "Zeros", DType::f32);
}

Id from_uint8(Emit &e, Id bytes) { return ops::cast(e, bytes, DType::f32); }

Id from_int8(Emit &e, Id bytes) {
  const Id moved = ops::binary(e, Binary::bitwise_xor, bytes, e.scalar(128, DType::u8));
  return ops::sub(e, from_uint8(e, moved), number(e, 128));
}

Id from_nibbles(Emit &e, Id bytes, int64_t size, bool is_signed) {
  const auto value = [&](Id nibble) {
    if (!is_signed) return ops::expand_dims(e, from_uint8(e, nibble), -1);
    const Id moved = ops::binary(e, Binary::bitwise_xor, nibble, e.scalar(8, DType::u8));
    return ops::expand_dims(e, ops::sub(e, from_uint8(e, moved), number(e, 8)), -1);
  };
  const Id low = ops::binary(e, Binary::bitwise_and, bytes, e.scalar(15, DType::u8));
  const Id high = ops::binary(e, Binary::right_shift, bytes, e.scalar(4, DType::u8));
  const Id pairs = ops::concat(e, {value(low), value(high)}, -1);
  const int last = e.rank(bytes) - 1;
  const Id all = ops::reshape(e, pairs, last, {checked_mul(2, e.shape(bytes).last())});
  return e.shape(all).last() == size ? all : ops::slice(e, all, last, 0, size);
}

Id by_group(Emit &e, Id whole, Id scale, Id zero, Id groups) {
  return ops::mul(e, ops::sub(e, whole, ops::gather(e, zero, groups)), ops::gather(e, scale, groups));
}

WholeInputs whole_inputs(Emit &e, const Quantization::Inputs &how, Id x, const std::vector<int> &summed) {
  const Id largest = ops::reduce(e, ops::Reduce::max, ops::unary(e, ops::Unary::abs, x), summed, true);
  const Id scale = ops::div(e, number(e, how.most), ops::add(e, largest, number(e, how.epsilon)));
  Id whole = ops::unary(e, ops::Unary::round, ops::mul(e, x, scale));
  whole = ops::binary(e, Binary::max, whole, number(e, how.least));
  return {ops::binary(e, Binary::min, whole, number(e, how.most)), scale};
}

Id whole_product(Emit &e, Id a, Id b) {
  // float32 adds integers up to 2^24 exactly: products of numbers up to 128.
  constexpr int64_t most = (int64_t{1} << 24) / (128 * 128);
  const int64_t terms = e.shape(b)[-2];
  if (terms == free_dim) fail(Code::shape_mismatch, "what is summed over should be known, got ", e.shape(b));
  if (terms <= most) return ops::matmul(e, a, b);
  Id sum = none;
  for (int64_t begin = 0; begin < terms; begin += most) {
    const int64_t size = std::min(most, terms - begin);
    const Id part =
        ops::cast(e, ops::matmul(e, ops::slice(e, a, -1, begin, size), ops::slice(e, b, -2, begin, size)), DType::i32);
    sum = sum == none ? part : ops::add(e, sum, part);
  }
  return ops::cast(e, sum, DType::f32);
}

Id quantized_product(Call &c, const Quantization &q, Id x, const KernelProduct &p) {
  Emit &e = c.e;
  const bool int8 = q.mode == Quantization::Mode::int8, awq = q.mode == Quantization::Mode::awq;
  const int64_t rows = q.turned() ? turned_rows(q, p) : p.rows,
                columns = p.kernel.elements() / std::max<int64_t>(1, rows);
  // In the order of Keras's files.
  Id bias = q.turned() ? p.bias() : none;
  const Id bytes = bytes_weight(c, p.prefix + (q.turned() ? natural_weights[0] : "kernel"),
                                q.turned() ? Shape{q.stored(columns), rows}
                                : int8     ? p.kernel
                                           : Shape{rows, q.stored(columns)});
  if (!q.turned()) bias = p.bias();
  const Shape scales = int8          ? p.scale
                       : q.turned()  ? Shape{columns, q.groups(rows)}
                       : q.grouped() ? Shape{q.groups(rows), columns}
                                     : Shape{columns};
  Id scale = scale_weight(c, p.prefix + "kernel_scale", scales), zero = none, own = none, groups = none;
  if (q.grouped()) zero = bytes_weight(c, p.prefix + (q.turned() ? natural_weights[1] : "kernel_zero"), scales);
  if (awq) own = scale_weight(c, p.prefix + "awq_scales", {rows});
  if (q.grouped()) groups = groups_weight(c, p.prefix + "g_idx", rows);

  const auto turned = [&](Id v) { return q.turned() ? ops::transpose(e, v, {1, 0}) : v; };
  Id w = int8          ? from_int8(e, bytes)
         : q.bits == 4 ? from_nibbles(e, turned(bytes), columns, !q.turned())
                       : from_uint8(e, turned(bytes));
  Id y = none;
  if (!q.grouped() && (int8 || !p.einsum)) {
    y = ops::div(e, p.product(x, w, false), scale);
    if (q.inputs) {
      const WholeInputs in = whole_inputs(e, *q.inputs, x, p.summed);
      const Id whole = p.product(in.x, w, true);
      y = ops::straight_through(e, ops::div(e, whole, ops::mul(e, p.to_output(in.scale), scale)), y);
    }
  } else {
    if (q.grouped())
      w = by_group(e, w, turned(scale), q.turned() ? from_uint8(e, turned(zero)) : from_int8(e, zero), groups);
    else
      w = ops::div(e, w, scale);
    if (awq) w = ops::div(e, w, ops::expand_dims(e, own, -1));
    w = ops::reshape(e, w, 0, p.kernel);
    y = p.product(x, w, false);
    if (q.inputs) {
      const WholeInputs in = whole_inputs(e, *q.inputs, x, p.summed);
      y = ops::straight_through(e, ops::div(e, p.product(in.x, w, false), p.to_output(in.scale)), y);
    }
  }
  if (p.more) y = ops::add(e, y, p.more());
  return bias == none ? y : ops::add(e, y, bias);
}

}  // namespace dl4::kinds
