// 500 random sites of each kernel of another library, and of ours beside it, against sums in double.
#include "conv_sites.hpp"
#include "lstm_sites.hpp"
#include "product_sites.hpp"

namespace dl4::dispatch::testing::DL4_FILE {
namespace {

constexpr int64_t count = 500;

TEST(RandomSites, OfConvolutions) { check_conv_sites(count); }
TEST(RandomSites, OfConvolutionsThatAreProducts) { check_conv_product_sites(count); }
TEST(RandomSites, OfConvolutionsBySource) { check_conv_data_sites(count); }
TEST(RandomSites, OfConvolutionsByWeights) { check_conv_weights_sites(count); }
TEST(RandomSites, OfProducts) { check_product_sites(count); }
TEST(RandomSites, OfProductsByItem) { check_product_by_item_sites(count); }
TEST(RandomSites, OfLstms) { check_lstm_sites(count); }

}  // namespace
}  // namespace dl4::dispatch::testing::DL4_FILE
