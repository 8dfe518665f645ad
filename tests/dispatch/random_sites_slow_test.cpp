// 20,000 random sites of each kernel of another library, and of ours beside it, against sums in double.
#include "conv_sites.hpp"
#include "lstm_sites.hpp"
#include "product_sites.hpp"

namespace dl4::dispatch::testing::DL4_FILE {
namespace {

constexpr int64_t count = 20000;

TEST(ManyRandomSites, OfConvolutions) { check_conv_sites(count); }
TEST(ManyRandomSites, OfConvolutionsThatAreProducts) { check_conv_product_sites(count); }
TEST(ManyRandomSites, OfConvolutionsBySource) { check_conv_data_sites(count); }
TEST(ManyRandomSites, OfConvolutionsByWeights) { check_conv_weights_sites(count); }
TEST(ManyRandomSites, OfProducts) { check_product_sites(count); }
TEST(ManyRandomSites, OfProductsByItem) { check_product_by_item_sites(count); }
TEST(ManyRandomSites, OfLstms) { check_lstm_sites(count); }

}  // namespace
}  // namespace dl4::dispatch::testing::DL4_FILE
