// The averages of the weights, beside layers that are frozen meanwhile.
#include "train/trainer.hpp"

#include "train/ring.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using Weights = std::map<std::string, std::vector<float>>;

// The weights after three steps, perhaps the freezing of a layer, and `use`.
template <class F>
Weights weights_after(bool freeze, F use) {
  const auto m = masked_model();
  Trainer t(m, how({{"class_name", "SGD"}, {"config", {{"use_ema", true}, {"ema_momentum", 0.5}}}}), run_options());
  Rows rows;
  for (int64_t i = 0; i < 3; ++i) t.step(rows.batch(i * 9, 9));
  if (freeze) m->set_trainable("dense_1", false);
  use(t);
  Weights all;
  for (const auto &w : m->weights())
    all[w->name].assign(w->value().as<float>(), w->value().as<float>() + w->value().elements());
  return all;
}

TEST(Averages, ThoseOfALayerFrozenSinceAreNotTaken) {
  const auto take = [](Trainer &t) { t.averages.take(); };
  const Weights stepped = weights_after(false, [](Trainer &) {}), taken = weights_after(false, take),
                beside_frozen = weights_after(true, take);
  ASSERT_NE(stepped, taken);
  for (const auto &[name, values] : beside_frozen)
    EXPECT_EQ(values, (name.starts_with("dense_1/") ? stepped : taken).at(name)) << name;
}

TEST(Averages, SwappedTwiceGiveTheWeightsBack) {
  const auto swap = [](Trainer &t) { t.averages.swap(); };
  const auto twice = [](Trainer &t) {
    t.averages.swap();
    t.averages.swap();
  };
  const Weights stepped = weights_after(false, [](Trainer &) {});
  EXPECT_NE(stepped, weights_after(false, swap));
  for (bool freeze : {false, true}) EXPECT_EQ(stepped, weights_after(freeze, twice));
}

TEST(Averages, AreRefusedWhereNoneAreKept) {
  Trainer t(masked_model(), how("SGD"), run_options());
  EXPECT_FALSE(t.averages.kept());
  EXPECT_EQ(refusal([&] { t.averages.swap(); }).message,
            "there are no averages of the weights: the optimizer has \"use_ema\" false");
  t.averages.take();  // nothing to take
  t.averages.settle();
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
