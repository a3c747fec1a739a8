// Products in pieces of one height, which exact inference has.
#include "gpu/nn/product_pieces.hpp"

#include "gpu/run/devices.hpp"
#include "tests/gpu/test_device.hpp"

#include <fmt/format.h>
#include <memory>
#include <vector>

namespace troupe::testing {
namespace {

/// Products by hand.
class ProductPieces : public OnEachDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, ProductPieces, ::testing::Values(one_thread, several_threads),
                         name_of_device);

TEST_P(ProductPieces, HaveOneHeightWhateverTheRows) {
  constexpr std::size_t height = 4;
  const auto device = std::make_shared<gpu::EmulatedDevice>();
  for (const std::size_t rows : {0U, 1U, 3U, 4U, 5U, 8U, 31U}) {
    for (const bool add : {false, true}) {
      SCOPED_TRACE(fmt::format("{} rows, add {}", rows, add));
      gpu::EmulatedStream on(device);
      std::vector<float> x(rows * 3);
      std::vector<float> y(rows * 2, 0.5F);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i + 1);
      }
      const auto x_there = on.uploaded(std::span<const float>(x));
      const auto y_there = on.uploaded(std::span<const float>(y));
      std::vector<std::size_t> heights;
      gpu::in_pieces(on, height, {x_there.data(), rows, 3}, {y_there.data(), rows, 2}, add,
                     [&](ConstMatrix from, MutMatrix to) {
                       EXPECT_EQ(from.rows, to.rows);
                       heights.push_back(from.rows);
                       on.launch([=] {
                         for (std::size_t r = 0; r < to.rows; ++r) {
                           for (std::size_t c = 0; c < 2; ++c) {
                             const float product = from.row(r)[c] + 2 * from.row(r)[2];
                             to.row(r)[c] = add ? to.row(r)[c] + product : product;
                           }
                         }
                       });
                     });
      std::vector<float> out(y.size());
      on.download(y_there.data(), out.data(), out.size() * sizeof(float));
      ASSERT_OK(on.finish());

      EXPECT_EQ(heights, std::vector<std::size_t>((rows + height - 1) / height, height));
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < 2; ++c) {
          const float product = x[r * 3 + c] + 2 * x[r * 3 + 2];
          EXPECT_EQ(out[r * 2 + c], add ? 0.5F + product : product) << r;
        }
      }
    }
  }
}

TEST(ProductPiecesOfDevices, AreWhatExactInferenceHas) {
  ASSERT_OK_AND_ASSIGN(const auto devices,
                       gpu::open_devices({.kind = DeviceKind::emulated, .count = 2}));
  ASSERT_OK_AND_ASSIGN(const auto ops, devices->exact_ops(Rank{1}));
  EXPECT_EQ(ops->product_rows(), gpu::emulated_product_rows);
  EXPECT_EQ(devices->exact_product_rows(), gpu::emulated_product_rows);
  ASSERT_OK_AND_ASSIGN(const auto training, devices->block_ops(Rank{1}, nn::Precision::float32));
  EXPECT_EQ(training->product_rows(), 0U);
}

}  // namespace
}  // namespace troupe::testing
