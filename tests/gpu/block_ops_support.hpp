#pragma once
/// \file block_ops_support.hpp
/// Block operations by themselves, on a device and on the CPU.
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "tests/gpu/test_device.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe::testing {

using nn::testing::OwnedBlock;

/// Operands and results of one set of functions, in its memory.
class Operands {
 public:
  explicit Operands(nn::BlockOps& ops) : ops_(ops) {}

  nn::BlockOps& ops() { return ops_; }
  nn::PassMemory* memory() { return ops_.memory(); }
  template <class T>
  std::span<T> room(std::size_t size) {
    arrays_.push_back(std::make_unique<nn::GrowBuffer<std::byte>>(ops_.memory()));
    const auto bytes = arrays_.back()->get(std::max<std::size_t>(size * sizeof(T), 1));
    return {reinterpret_cast<T*>(bytes.data()), size};
  }
  MutMatrix rows(std::size_t rows, std::size_t cols) {
    return {room<float>(rows * cols).data(), rows, cols};
  }
  /// \param values  stay as they are until the next fetched()
  template <class T>
  std::span<T> copied(std::span<const T> values) {
    const auto to = room<T>(values.size());
    if (!values.empty()) {
      ops_.upload(values.data(), to.data(), values.size_bytes());
    }
    return to;
  }
  MutMatrix copied(const Matrix& values) {
    return {copied(values.view().flat()).data(), values.rows(), values.cols()};
  }
  /// Rows that begin so many elements later than memory does.
  MutMatrix rows_at(std::size_t rows, std::size_t cols, std::size_t offset) {
    return {room<float>(rows * cols + offset).data() + offset, rows, cols};
  }
  MutMatrix copied_at(const Matrix& values, std::size_t offset) {
    const MutMatrix to = rows_at(values.rows(), values.cols(), offset);
    if (to.size() > 0) {
      ops_.upload(values.data(), to.data, to.size() * sizeof(float));
    }
    return to;
  }
  LayerBlock copied(const OwnedBlock& block) {
    LayerBlock view = block.view();
    view.edges = {view.first_edge(), view.first_edge() + view.num_edges()};
    view.offsets = copied(view.offsets);
    view.sources = copied(view.sources);
    return view;
  }
  template <class T>
  std::vector<std::remove_const_t<T>> fetched(std::span<T> values) {
    std::vector<std::remove_const_t<T>> host(values.size());
    if (!host.empty()) {
      EXPECT_OK(ops_.download(values.data(), host.data(), values.size_bytes()));
    }
    return host;
  }
  std::vector<float> fetched(ConstMatrix values) { return fetched(values.flat()); }

 private:
  nn::BlockOps& ops_;
  std::vector<std::unique_ptr<nn::GrowBuffer<std::byte>>> arrays_;
};

/// Results of a test's operations, the same in number and size on each set of functions.
struct Results {
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<std::uint32_t>> integers;
};

/// Sorts a block's edges by source; the lists are results, too.
inline void sort_by_source(Operands& on, const LayerBlock& block, nn::EdgesBySource& lists,
                           Results& results) {
  InlineExecutor executor;
  const std::vector<nn::BlockOps::SortWork> sort{{&block, &lists}};
  on.ops().sort_by_source(executor, sort);
  results.integers.push_back(on.fetched(lists.offsets()));
  results.integers.push_back(on.fetched(lists.destinations()));
  results.integers.push_back(on.fetched(lists.edges()));
  results.floats.push_back(on.fetched(lists.inverse_degree()));
}

using Operation = std::function<Results(Operands&)>;

/// Tests that run an operation on the CPU and on a device.
class BlockOpsTest : public OnEachDevice {
 protected:
  using Precision = nn::Precision;

  Results of_the_cpu(const Operation& operation, Precision precision = Precision::float32) {
    nn::CpuBlockOps ops(precision);
    Operands operands(ops);
    return operation(operands);
  }
  Results of_the_device(const Operation& operation, Precision precision = Precision::float32) {
    const auto ops = on(7).block_ops(precision);
    Operands operands(*ops);
    return operation(operands);
  }
  void expect_same(const Operation& operation, const std::string& what,
                   Precision precision = Precision::float32) {
    expect_equal(of_the_device(operation, precision), of_the_cpu(operation, precision), what);
  }
  /// The same, but all that is not a number is equal: which one comes out, processors decide.
  void expect_same_numbers(const Operation& operation, const std::string& what) {
    const auto with_one_nan = [](Results results) {
      for (auto& values : results.floats) {
        for (float& value : values) {
          value = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
        }
      }
      return results;
    };
    expect_equal(with_one_nan(of_the_device(operation)), with_one_nan(of_the_cpu(operation)), what);
  }

 private:
  static void expect_equal(const Results& actual, const Results& expected,
                           const std::string& what) {
    EXPECT_EQ(actual.integers, expected.integers) << what;
    ASSERT_EQ(actual.floats.size(), expected.floats.size()) << what;
    for (std::size_t i = 0; i < actual.floats.size(); ++i) {
      EXPECT_TRUE(nn::testing::same_bits(actual.floats[i], expected.floats[i]))
          << what << ", result " << i;
    }
  }
};

/// Sizes around those of warps and chunks.
inline constexpr std::array<std::uint32_t, 5> some_rows{1, 31, 33, 512, 1025};

struct CombinationOptions {
  bool bias = true;
  std::size_t offset = 0;  ///< elements by which rows begin later than memory
};
/// A combination and the way back through its end.
/// \param terms  with room for their sums
/// \returns result, sums of columns, gradient of the sum
inline Results combined(Operands& on, const std::vector<nn::TermWork>& terms,
                        const nn::Finish& finish, std::size_t rows, std::size_t cols,
                        const CombinationOptions& options = {}) {
  InlineExecutor executor;
  const Matrix bias = nn::testing::random_matrix(1, cols, 31);
  const Matrix grad = nn::testing::random_matrix(rows, cols, 32);
  nn::FinishState state(on.memory());
  const MutMatrix out = on.rows_at(rows, cols, options.offset);
  const MutMatrix conv = nn::begin_finish(finish, out, state);
  const auto of_columns = options.bias ? on.copied(bias.view().flat()) : std::span<float>();
  on.ops().combine(executor, {.terms = terms,
                              .bias = of_columns,
                              .finish = finish,
                              .state = state,
                              .conv = conv,
                              .out = out});
  Results results;
  results.floats.push_back(on.fetched(out));
  const MutMatrix back = on.copied_at(grad, options.offset);
  const auto sums = on.ops().finish_backward(executor, finish, state, back);
  results.floats.push_back(on.fetched(sums));
  results.floats.push_back(on.fetched(back));
  return results;
}

/// max|a - b| <= tolerance * max|b|, for each result.
inline void expect_near(const Results& actual, const Results& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.floats.size(), expected.floats.size()) << what;
  for (std::size_t i = 0; i < actual.floats.size(); ++i) {
    const std::vector<double> truth(expected.floats[i].begin(), expected.floats[i].end());
    nn::testing::expect_close<float>(actual.floats[i], truth, tolerance,
                                     fmt::format("{}, result {}", what, i));
  }
}

}  // namespace troupe::testing
