#include "gpu/nn/emulated_block_ops.hpp"

#include "gpu/nn/device_block_ops.hpp"
#include "gpu/nn/product_pieces.hpp"

#include <utility>

namespace troupe::gpu {
namespace {

void expect_on_device(EmulatedStream& on, ConstMatrix matrix) {
  if (matrix.size() > 0) {
    on.expect_on_device(matrix.data, "product");
  }
}

/// The CPU's products: a row's bits do not depend on the rows beside it.
struct EmulatedProducts {
  nn::Precision precision;
  std::size_t rows_of_piece = 0;

  std::size_t piece_rows() const { return rows_of_piece; }
  void forward(EmulatedStream& on, ConstMatrix x, ConstMatrix weight, MutMatrix y, bool add) const {
    expect_on_device(on, x);
    expect_on_device(on, weight);
    expect_on_device(on, y);
    in_pieces(on, rows_of_piece, x, y, add, [&](ConstMatrix x_piece, MutMatrix y_piece) {
      on.launch([=, how = precision] {
        nn::linear_rows(x_piece, weight, y_piece, add ? nn::Into::add : nn::Into::overwrite, how);
      });
    });
  }
  void backward(EmulatedStream& on, ConstMatrix grad, ConstMatrix weight, MutMatrix grad_x,
                bool add) const {
    expect_on_device(on, grad);
    expect_on_device(on, weight);
    expect_on_device(on, grad_x);
    on.launch([=, how = precision] {
      nn::linear_backward_rows(grad, weight, grad_x, add ? nn::Into::add : nn::Into::overwrite,
                               how);
    });
  }
  void weight_gradient(EmulatedStream& on, ConstMatrix grad, ConstMatrix x,
                       MutMatrix grad_weight) const {
    expect_on_device(on, grad);
    expect_on_device(on, x);
    expect_on_device(on, grad_weight);
    on.launch([=, how = precision] {
      InlineExecutor executor;
      nn::GrowBuffer<float> partials;
      nn::weight_gradient(executor, grad, x, partials, grad_weight, how);
    });
  }
};

}  // namespace

std::unique_ptr<nn::BlockOps> make_emulated_block_ops(std::shared_ptr<EmulatedDevice> device,
                                                      nn::Precision precision,
                                                      std::size_t product_rows) {
  return std::make_unique<DeviceBlockOps<EmulatedStream, EmulatedProducts>>(
      EmulatedStream(std::move(device)), EmulatedProducts{precision, product_rows});
}

}  // namespace troupe::gpu
