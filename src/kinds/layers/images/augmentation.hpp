// Layers that change images in training alone.
#pragma once

#include <deque>

#include "kinds/layers/conv/data_format.hpp"
#include "ops/flow.hpp"

namespace dl4::kinds {

// Random numbers of a call, for each image or one for the batch.
class Draws {
 public:
  // x: images; the first axis is the samples, so that parts of a batch draw what the whole would.
  Draws(const Call &c, const std::optional<int64_t> &seed, ops::Id x);

  ops::Emit &e;
  // In [low, high) for each image, (B, tail).
  ops::Id each(double low, double high, const Shape &tail = {1, 1, 1});
  // One number of the batch, a scalar or (count).
  ops::Id one(double low, double high, const Shape &shape = {});
  // Standard normal, shaped as x.
  ops::Id normal();
  // A permutation of the samples: int32 (B).
  ops::Id order();
  // Of the beta distribution with both parameters alpha, a float32 scalar: (B, 1, 1, 1), or for the batch a scalar.
  ops::Id beta(ops::Id alpha, bool for_each);
  // Of the Dirichlet distribution of `count` equal parameters alpha: (count).
  ops::Id dirichlet(double alpha, int64_t count);
  // Of their own, inside a body where the images are x.
  Draws within(ops::BodyWriter &body, ops::Id x);

 private:
  Draws(ops::Emit &e, uint64_t key, ops::Id x, ops::Id draws, ops::Id of_batch)
      : e(e), key_(key), x_(x), draws_(draws), of_batch_(of_batch) {}
  uint64_t next() { return key_ + ++count_ * 0xD1B54A32D192ED03u; }
  ops::Id uniform(int keep, const Shape &tail);
  ops::Id log_gamma(ops::Id alpha, int keep, const Shape &tail);

  const uint64_t key_;
  const ops::Id x_, draws_, of_batch_;
  uint64_t count_ = 0;
};

struct Range {
  double low, high;
};

class Augmentation;

// What a row's function works with. Images are float32 (B, H, W, C).
struct Changing {
  ops::Emit &e;
  Call &c;
  Draws &draws;
  const Augmentation &layer;

  const Json &at(const char *key) const;
  double number(const char *key) const;
  Range range(const char *key) const;
  bool says(const char *key, std::string_view word) const;
  // The change of another kind, by its attributes.
  ops::Id by(const char *kind, const Json &config, ops::Id x) const;
};

class Augmentation final : public Layer {
 public:
  // What a number alone means, f: -f to f but not below `least`; -f to f; 0 to f; f to f.
  enum class Alone { about_zero_from_least, about_zero, from_zero, itself };
  struct Interval {
    const char *key = nullptr;
    int least = 0, most = 0;
    Alone alone = Alone::about_zero_from_least;
    bool above = false;  // `least` itself is refused
  };
  enum class When { training, always };
  enum class Channels { any, three, one_three };  // that it needs
  struct Row : Entry {
    bool floats;        // the output is float32 whatever the input
    const char *given;  // config defaults as JSON; attributes without default are {"example": value as text}
    ops::Id (*change)(const Changing &c, ops::Id x);
    std::array<Interval, 2> intervals;
    When when = When::training;
    Channels channels = Channels::any;
  };

  explicit Augmentation(const Row &row);
  void fields(Fields &f) override;
  void check() override;
  Facts facts() const override;
  std::vector<Symbol> call(Call &c) const override;

  ops::Id changed(Call &c, Draws &draws, ops::Id x) const;
  const Json &at(std::string_view key) const;
  Range range(std::string_view key) const;
  const Row &row;

 private:
  void check_words(const char *key, std::initializer_list<const char *> words) const;
  std::string unfit(const Call &c, ops::Id x) const;

  Json given_;
  std::deque<std::string> keys_;
  std::deque<Json> values_;
  DataFormat format_;
  std::optional<int64_t> seed_;
};

// Functions of the rows, by file.
using Change = ops::Id(const Changing &c, ops::Id x);
Change flipped, cropped, rotated, zoomed, translated, sheared, in_perspective;
Change brightened, contrasted, hue_turned, saturated, jittered, degenerated, in_grey, inverted, posterized, solarized,
    sharpened, blurred, auto_contrasted, equalized;
Change erased, mixed, cut_and_mixed, by_chosen, by_chains;

// Linear from one range of values to another, as Keras computes it.
ops::Id in_range(ops::Emit &e, ops::Id x, const Range &from, const Range &to);

}  // namespace dl4::kinds
