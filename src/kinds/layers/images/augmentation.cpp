// Keras's layers of image augmentation. A table of rows, each with the function that changes images.
#include "kinds/layers/images/augmentation.hpp"

#include <cmath>

#include "kinds/layers/preprocessing/lookup.hpp"
#include "kinds/layers/random/dropping.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;
using Alone = Augmentation::Alone;
using Interval = Augmentation::Interval;
using When = Augmentation::When;
using Channels = Augmentation::Channels;

// One draw for the batch where each sample has a number of its own.
Id first_of(Emit &e, Id draws) {
  return e.rank(draws) == 1 ? ops::squeeze(e, ops::slice(e, draws, 0, 0, 1), 0) : draws;
}

struct Doc {
  const char *key, *words;
};
constexpr Doc docs[] = {
    {"factor", "how much, or with which probability: a number, or the two ends of an interval; as in Keras"},
    {"value_range", "the least and the greatest value of images"},
    {"fill_mode", "beyond the edges: \"reflect\" (the edge twice), \"wrap\", \"nearest\" or \"constant\""},
    {"fill_value", "what is beyond the edges with \"constant\"; of RandomErasing null: normal noise"},
    {"interpolation", "\"nearest\" or \"bilinear\""},
    {"mode", "\"horizontal\", \"vertical\" or \"horizontal_and_vertical\": both ways at once"},
    {"bins", "of the histogram"},
    {"alpha", "both parameters of the beta distribution of the shares"},
    {"kernel_size", "one odd size, or of x and of y"},
    {"sigma", "of the blur: a number, or an interval from 0 to 1"},
    {"scale", "how large a part, or how far corners move: a number, or for a part an interval from 0 to 1"},
    {"num_ops", "how many changes one after the other"},
    {"num_chains", "how many chains of changes are mixed"},
    {"chain_depth", "how many changes a chain has at most"},
    {"all_ops", "changes of colours too, not of shapes alone"},
    {"height", "of the result in training"},
    {"width", "of the result in training"},
};

const char *doc_of(std::string_view key) {
  const auto at = std::find_if(std::begin(docs), std::end(docs), [&](const Doc &d) { return key == d.key; });
  return at == std::end(docs) ? "a number, or the two ends of an interval; as in Keras" : at->words;
}

bool is_pair(const Json &j) { return j.is_array() && j.size() == 2 && j[0].is_number() && j[1].is_number(); }

// As Keras reads a factor.
Range range_of(const Interval &i, const Json &j) {
  using Alone = Augmentation::Alone;
  const bool pair = is_pair(j);
  if (!pair && !j.is_number()) refuse_attribute(i.key, "expected a number or two, got ", j.shown());
  const double a = (pair ? j[0] : j).get<double>(), b = (pair ? j[1] : j).get<double>();
  const auto fits = [&](double v) { return v <= i.most && (i.above ? v > i.least : v >= i.least); };
  // Keras looks at both ends of a "factor" in this way.
  const bool loose = pair && i.alone == Alone::about_zero_from_least;
  if (!(loose ? a <= i.most && b >= i.least : fits(a) && fits(b)))
    refuse_attribute(i.key, "expected numbers from ", i.least, i.above ? " (not itself)" : "", " to ", i.most, ", got ",
                     j.shown());
  if (pair) return {std::min(a, b), std::max(a, b)};
  const double f = std::abs(a);
  switch (i.alone) {
    case Alone::about_zero:
      return {-f, f};
    case Alone::from_zero:
      return {0, f};
    case Alone::itself:
      return {f, f};
    default:
      return {std::max(-f, static_cast<double>(i.least)), f};
  }
}

constexpr Interval any_factor{"factor", -1, 1}, unit_factor{"factor", 0, 1};

constexpr Augmentation::Row row(const char *name, const char *doc, bool floats, const char *given, Change *change,
                                std::array<Interval, 2> intervals = {}, Channels channels = Channels::any,
                                When when = When::training) {
  return {row_of<Augmentation>(name, doc), floats, given, change, intervals, when, channels};
}

constexpr Augmentation::Row augmentations[] = {
    row("AutoContrast", "Stretches the values of each channel of an image to the whole range, in inference too.", true,
        R"({"value_range": [0, 255]})", auto_contrasted, {}, Channels::any, When::always),
    row("Equalization", "In training, makes the values of each channel of the batch equally frequent.", true,
        R"({"value_range": [0, 255], "bins": 256})", equalized),
    row("RandomBrightness", "In training, adds a number to each image.", false,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", brightened, {any_factor}),
    row("RandomColorDegeneration", "In training, moves colours towards grey.", false,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", degenerated, {any_factor}, Channels::one_three),
    row("RandomColorJitter",
        "In training, RandomBrightness, RandomContrast, RandomSaturation and RandomHue, those that have a factor.",
        false,
        R"({"value_range": [0, 255], "brightness_factor": null, "contrast_factor": null, )"
        R"("saturation_factor": null, "hue_factor": null})",
        jittered),
    row("RandomContrast", "In training, moves values away from the mean of their channel, or towards it.", false,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", contrasted, {unit_factor}),
    row("RandomCrop",
        "In training, a part of that size, the same for the whole batch; of images that are no larger the middle, "
        "resized. In inference images as they are.",
        false, R"({"height": {"example": "4"}, "width": {"example": "4"}})", cropped),
    row("RandomElasticTransform", "In inference images as they are. Training such a model is refused.", true,
        R"({"factor": 1.0, "scale": 1.0, "interpolation": "bilinear", "fill_mode": "reflect", )"
        R"("fill_value": 0.0, "value_range": [0, 255]})",
        nullptr),
    row("RandomErasing", "In training, fills a rectangle of images.", true,
        R"({"factor": 1.0, "scale": [0.02, 0.33], "fill_value": null, "value_range": [0, 255]})", erased,
        {unit_factor, {"scale", 0, 1}}),
    row("RandomFlip", "In training, mirrors half of the images.", true, R"({"mode": "horizontal_and_vertical"})",
        flipped),
    row("RandomGaussianBlur", "In training, blurs images.", true,
        R"({"factor": 1.0, "kernel_size": 3, "sigma": 1.0, "value_range": [0, 255]})", blurred,
        {unit_factor, {"sigma", 0, 1}}),
    row("RandomGrayscale", "In training, makes images grey.", false, R"({"factor": 0.5})", in_grey,
        {Interval{"factor", 0, 1, Alone::itself}}, Channels::one_three),
    row("RandomHue", "In training, turns the hue of images.", false,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", hue_turned, {unit_factor}, Channels::three),
    row("RandomInvert", "In training, inverts the colours of images.", false,
        R"({"factor": 1.0, "value_range": [0, 255]})", inverted, {unit_factor}),
    row("RandomPerspective", "In training, moves the corners of images but the first.", true,
        R"({"factor": 1.0, "scale": 1.0, "interpolation": "bilinear", "fill_value": 0.0})", in_perspective,
        {unit_factor, {"scale", 0, 1, Alone::itself}}),
    row("RandomPosterization", "In training, keeps some leading bits of 8 of each value.", false,
        R"({"factor": {"example": "4"}, "value_range": [0, 255]})", posterized, {Interval{"factor", 1, 8}}),
    row("RandomRotation", "In training, turns images by so many whole turns.", true,
        R"({"factor": {"example": "0.3"}, "fill_mode": "reflect", "interpolation": "bilinear", "fill_value": 0.0})",
        rotated, {any_factor}),
    row("RandomSaturation", "In training, multiplies the saturation by f / (1 - f).", false,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", saturated, {any_factor}, Channels::three),
    row("RandomSharpness", "In training, sharpens or smooths images: 0.5 leaves them.", true,
        R"({"factor": {"example": "0.3"}, "value_range": [0, 255]})", sharpened, {unit_factor}),
    row("RandomShear", "In training, shears images, either way.", true,
        R"({"x_factor": 0.0, "y_factor": 0.0, "interpolation": "bilinear", "fill_mode": "reflect", )"
        R"("fill_value": 0.0})",
        sheared, {Interval{"x_factor", 0, 1, Alone::about_zero}, {"y_factor", 0, 1, Alone::about_zero}}),
    row("RandomTranslation", "In training, moves images by parts of their size.", true,
        R"({"height_factor": {"example": "0.2"}, "width_factor": {"example": "0.2"}, "fill_mode": "reflect", )"
        R"("interpolation": "bilinear", "fill_value": 0.0})",
        translated, {Interval{"height_factor", -1, 1, Alone::about_zero}, {"width_factor", -1, 1, Alone::about_zero}}),
    row("RandomZoom", "In training, images from nearer (negative factors) or farther.", true,
        R"({"height_factor": {"example": "0.2"}, "width_factor": null, "fill_mode": "reflect", )"
        R"("interpolation": "bilinear", "fill_value": 0.0})",
        zoomed,
        {Interval{"height_factor", -1, 1, Alone::about_zero, true}, {"width_factor", -1, 1, Alone::about_zero, true}}),
    row("AugMix", "In training, mixes each image with chains of changes of it. It has no gradient.", true,
        R"({"value_range": [0, 255], "num_chains": 3, "chain_depth": 3, "factor": 0.3, "alpha": 1.0, )"
        R"("all_ops": true, "interpolation": "bilinear"})",
        by_chains, {unit_factor}, Channels::one_three),
    row("CutMix", "In training, puts a rectangle of another image of the batch into each.", true, R"({"factor": 1.0})",
        cut_and_mixed, {unit_factor}),
    row("MixUp", "In training, mixes each image with another one of the batch.", false, R"({"alpha": 0.2})", mixed),
    row("RandAugment", "In training, some changes in a random order, the same ones for the batch. It has no gradient.",
        true, R"({"value_range": [0, 255], "num_ops": 2, "factor": 0.5, "interpolation": "bilinear"})", by_chosen,
        {unit_factor}, Channels::one_three),
    row("Solarization", "In training, adds to values and inverts those above a threshold.", true,
        R"({"addition_factor": 0.0, "threshold_factor": 0.0, "value_range": [0, 255]})", solarized,
        {Interval{"addition_factor", 0, 1, Alone::from_zero}, {"threshold_factor", 0, 1, Alone::from_zero}}),
};

}  // namespace

Draws::Draws(const Call &c, const std::optional<int64_t> &seed, Id x)
    : e(c.e), key_(c.host.random_seed(seed)), x_(x), draws_(c.host.draws()), of_batch_(first_of(c.e, draws_)) {}

Draws Draws::within(ops::BodyWriter &body, Id x) {
  return {body.body, next() * 0x9E3779B97F4A7C15u, x, body.constant(draws_), body.constant(of_batch_)};
}

Id Draws::uniform(int keep, const Shape &tail) {
  return ops::random_uniform(e, next(), keep ? draws_ : of_batch_, x_, keep, tail);
}

Id Draws::each(double low, double high, const Shape &tail) {
  return low == high ? ops::fill(e, DType::f32, low, x_, 1, tail)
                     : ops::scale_shift(e, uniform(1, tail), high - low, low);
}

Id Draws::one(double low, double high, const Shape &shape) {
  return low == high ? ops::fill(e, DType::f32, low, x_, 0, shape)
                     : ops::scale_shift(e, uniform(0, shape), high - low, low);
}

Id Draws::normal() { return ops::random_normal(e, next(), draws_, x_, e.rank(x_), {}); }

Id Draws::order() { return ops::sort(e, uniform(1, {}), false).places; }

// The logarithm of gamma numbers, by Marsaglia and Tsang's method for alpha + 1 and a power of a uniform number for the
// rest. Each of the tries is accepted with a probability above 0.95, so that none is once in 10^20.
Id Draws::log_gamma(Id alpha, int keep, const Shape &tail) {
  constexpr int64_t tries = 16;
  const Shape with_tries = tail.joined({tries});
  const Id d = ops::scale_shift(e, alpha, 1, 1 - 1.0 / 3),
           c = ops::unary(e, Unary::rsqrt, ops::scale_shift(e, d, 9, 0));
  const Id draw = keep ? draws_ : of_batch_;
  const Id x = ops::random_normal(e, next(), draw, x_, keep, with_tries);
  const Id u = ops::random_uniform(e, next(), draw, x_, keep, with_tries);
  const Id root = ops::scale_shift(e, ops::mul(e, x, c), 1, 1), v = ops::mul(e, ops::mul(e, root, root), root);
  const Id positive = ops::binary(e, Binary::greater, v, e.scalar(0));
  const Id log_v = ops::unary(e, Unary::log, ops::select(e, positive, v, e.scalar(1)));
  // log u < x^2 / 2 + d - d v + d log v
  const Id bound = ops::add(e, ops::scale_shift(e, ops::mul(e, x, x), 0.5, 0),
                            ops::mul(e, d, ops::sub(e, ops::scale_shift(e, log_v, 1, 1), v)));
  const Id below = ops::binary(e, Binary::less, ops::unary(e, Unary::log, ops::scale_shift(e, u, -1, 1)), bound);
  const Id good = ops::cast(e, ops::binary(e, Binary::logical_and, positive, below), DType::f32);
  const Id chosen = ops::hardmax(e, good, -1);
  const Id log_one = ops::reduce(e, ops::Reduce::sum, ops::mul(e, chosen, log_v), {-1});
  const Id power = ops::div(e, ops::unary(e, Unary::log, ops::scale_shift(e, uniform(keep, tail), -1, 1)), alpha);
  return ops::add(e, ops::add(e, ops::unary(e, Unary::log, d), log_one), power);
}

Id Draws::beta(Id alpha, bool for_each) {
  const int keep = for_each ? 1 : 0;
  const Shape tail = for_each ? Shape{1, 1, 1} : Shape{};
  const Id a = log_gamma(alpha, keep, tail), b = log_gamma(alpha, keep, tail);
  return ops::unary(e, Unary::sigmoid, ops::sub(e, a, b));
}

Id Draws::dirichlet(double alpha, int64_t count) { return ops::softmax(e, log_gamma(e.scalar(alpha), 0, {count})); }

// ---- Rows -----------------------------------------------------------------------------------------------------------

// ---- The layer ------------------------------------------------------------------------------------------------------

Augmentation::Augmentation(const Row &row) : row(row), given_(Json::parse(row.given)) {
  for (const auto &[key, v] : given_.items()) {
    keys_.emplace_back(key);
    values_.push_back(v);
  }
}

void Augmentation::fields(Fields &f) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    Field &field = f(keys_[i].c_str(), values_[i], doc_of(keys_[i]));
    if (const Json *example = given_[keys_[i]].find("example")) field.required(example->get<std::string_view>());
  }
  format_.fields(f);
  if (row.change != auto_contrasted && row.change != equalized) seed_field(f, seed_);  // they draw nothing
}

const Json &Augmentation::at(std::string_view key) const {
  return values_[static_cast<size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin())];
}

Range Augmentation::range(std::string_view key) const {
  const auto i = std::find_if(row.intervals.begin(), row.intervals.end(),
                              [&](const Interval &interval) { return interval.key && key == interval.key; });
  return range_of(*i, at(key));
}

void Augmentation::check_words(const char *key, std::initializer_list<const char *> words) const {
  if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) return;
  std::string all;
  for (const char *word : words) {
    if (at(key) == word) return;
    all += text(all.empty() ? "" : ", ", '"', word, '"');
  }
  refuse_attribute(key, "expected one of ", all, ", got ", at(key).shown());
}

void Augmentation::check() {
  for (const Interval &i : row.intervals)
    if (i.key && !(at(i.key).is_null() && given_[i.key].is_null())) range(i.key);
  check_words("fill_mode", {"reflect", "wrap", "constant", "nearest"});
  check_words("interpolation", {"nearest", "bilinear"});
  check_words("mode", {"horizontal", "vertical", "horizontal_and_vertical"});
  const auto need = [&](const char *key, const char *what, auto good) {
    if (std::find(keys_.begin(), keys_.end(), key) != keys_.end() && !good(at(key)))
      refuse_attribute(key, "expected ", what, ", got ", at(key).shown());
  };
  const auto positive = [](const Json &j) {
    return j.is_int64() && j.get<int64_t>() > 0 && j.get<int64_t>() <= max_dim;
  };
  const auto odd = [&](const Json &j) { return positive(j) && j.get<int64_t>() % 2 == 1 && j.get<int64_t>() < 1000; };
  need("value_range", "two numbers", is_pair);
  for (const char *key : {"height", "width"}) need(key, "a size of at least 1", positive);
  need("bins", "2 to 65536",
       [&](const Json &j) { return positive(j) && j.get<int64_t>() > 1 && j.get<int64_t>() <= 65536; });
  for (const char *key : {"num_ops", "num_chains", "chain_depth"})
    need(key, "1 to 16", [&](const Json &j) { return positive(j) && j.get<int64_t>() <= 16; });
  need("alpha", "a number above 0", [](const Json &j) { return j.is_number() && j.get<double>() > 0; });
  need("all_ops", "true or false", [](const Json &j) { return j.is_boolean(); });
  need("kernel_size", "one odd size below 1000, or two",
       [&](const Json &j) { return odd(j) || (j.is_array() && j.size() == 2 && odd(j[0]) && odd(j[1])); });
  const bool erases = row.change == erased;
  need("fill_value", erases ? "null, a number or three" : "a number", [&](const Json &j) {
    const bool three = j.is_array() && j.size() == 3 && j[0].is_number() && j[1].is_number() && j[2].is_number();
    return j.is_number() || (erases && (j.is_null() || three));
  });
  if (row.change == jittered)  // by the kinds that have them
    for (const Interval &i : {Interval{"brightness_factor", -1, 1}, Interval{"contrast_factor", 0, 1},
                              Interval{"saturation_factor", -1, 1}, Interval{"hue_factor", 0, 1}})
      if (!at(i.key).is_null()) range_of(i, at(i.key));
}

Facts Augmentation::facts() const {
  const char *shape = row.channels == Channels::three       ? "(B, H, W, 3)"
                      : row.channels == Channels::one_three ? "(B, H, W, 3 or 1)"
                                                            : "(B, H, W, C)";
  return PlainFacts{.inputs = {{"x", shape}}, .outputs = {{"y", shape}}};
}

Id Augmentation::changed(Call &c, Draws &draws, Id x) const { return row.change({draws.e, c, draws, *this}, x); }

// Why it can't change these images; empty if it can.
std::string Augmentation::unfit(const Call &c, Id x) const {
  if (c.shape().rank() != 4) return text("expected images of 4 axes, got ", c.shape());
  if (c.e.dtype(x) != DType::f32) return text("expected float32 images in training, got ", c.e.dtype(x));
  const Shape images = format_.to_last(c.shape());
  if (row.channels != Channels::any && images.last() != 3 && (row.channels == Channels::three || images.last() != 1))
    return text("expected images of ", row.channels == Channels::three ? "3" : "1 or 3", " channels, got ", c.shape());
  for (int axis : {1, 2, 3})
    if (images[axis] == free_dim || images[axis] == 0)
      return text("expected images of a known size, at least 1, got ", c.shape());
  return {};
}

std::vector<Symbol> Augmentation::call(Call &c) const {
  const Id x = row.floats ? ops::cast(c.e, c.x(), DType::f32) : c.x();
  if (!row.change) {
    if (c.training()) c.host.refuse_training();
    return {{x}};
  }
  if (!c.training() && row.when == When::training) return {{x}};
  if (const std::string why = unfit(c, x); !why.empty()) {
    if (row.when == When::always) fail(Code::shape_mismatch, why);
    c.host.refuse_training(why);
    return {{x}};  // while the graph is built, whose model may be run
  }
  Draws draws(c, seed_, x);
  return {{format_.from_last(c.e, changed(c, draws, format_.to_last(c.e, x)))}};
}

// ---- For the functions ----------------------------------------------------------------------------------------------

const Json &Changing::at(const char *key) const { return layer.at(key); }
double Changing::number(const char *key) const { return at(key).get<double>(); }
bool Changing::says(const char *key, std::string_view word) const { return at(key) == std::string(word); }

Range Changing::range(const char *key) const {
  if (std::string_view(key) != "value_range") return layer.range(key);
  const Json &j = at(key);
  return {std::min(j[0].get<double>(), j[1].get<double>()), std::max(j[0].get<double>(), j[1].get<double>())};
}

Id Changing::by(const char *kind, const Json &config, Id x) const {
  const auto made = std::static_pointer_cast<const Augmentation>(find("layer", kind).make(config));
  return made->changed(c, draws, x);
}

Id in_range(ops::Emit &e, Id x, const Range &from, const Range &to) {
  if (from.low == to.low && from.high == to.high) return x;
  const auto number = [&](double v) { return e.scalar(static_cast<double>(static_cast<float>(v))); };
  x = ops::div(e, ops::sub(e, x, number(from.low)),
               number(static_cast<float>(from.high) - static_cast<float>(from.low)));
  return ops::add(e, ops::mul(e, x, number(static_cast<float>(to.high) - static_cast<float>(to.low))), number(to.low));
}

DL4_TABLE(augmentation, augmentations)

}  // namespace dl4::kinds
