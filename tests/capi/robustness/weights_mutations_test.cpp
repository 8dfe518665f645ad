// What becomes of damaged files of weights: .npz, safetensors and .weights.h5.
#include <fstream>

#include "capi/damaged.hpp"
#include "harness/folder.hpp"
#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using WeightMutations = Folder;

TEST_F(WeightMutations, OfWeightsAreLoadedWholeOrNotAtAll) {
  auto c = bounded();
  Own<dl4_model> m;
  ok(dl4_model_load(c, DL4_SOURCE_DIR "/tests/io/data/sequential.keras", nullptr, m.out()));
  std::vector<std::string> files{bytes_of(DL4_SOURCE_DIR "/tests/io/data/arrays.npz")};
  for (const char *name : {"a.npz", "a.safetensors", "a.weights.h5"}) {
    ok(dl4_model_save(m, path(name).c_str(), nullptr));
    files.push_back(bytes_of(path(name)));
  }
  // A table makes other paths of the reader be taken too.
  const char *named = R"({"partial": true, "verify": false, "names": {"dense/bias": {"tensors": ["<f4"],
      "rows": [0, 1], "reshape": [3], "gates": [1, 0, 2]}}})",
             *plain = R"({"verify": false})";
  std::mt19937_64 random(15);
  const int most = times(1500, 1000000);  // 250,000 of each file
  int loaded = 0;
  for (int i = 0; i < most; ++i) {
    const size_t which = static_cast<size_t>(i) % files.size();
    SCOPED_TRACE("mutation " + std::to_string(i));
    std::ofstream(path("bad"), std::ios::binary) << damaged(files[which], random);
    const Refusal r = refusal(dl4_model_load_weights(m, path("bad").c_str(), which == 0 ? named : plain));
    loaded += r.code == 0;
    const bool fair = r.code == 0 || r.code == DL4_CORRUPT_FILE || r.code == DL4_UNSUPPORTED ||
                      r.code == DL4_OUT_OF_MEMORY || r.code == DL4_VERSION || r.code == DL4_INVALID_ARGUMENT ||
                      r.code == DL4_NOT_FOUND || r.code == DL4_SHAPE_MISMATCH;
    ASSERT_TRUE(fair) << r.code << ' ' << r.message;
  }
  std::printf("%d mutations, %d of them weights\n", most, loaded);
  EXPECT_GT(loaded, most / 50);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
