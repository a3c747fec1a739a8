#pragma once
/// \file dist_tensor.hpp
/// Tensors spread over the holders of parts, by name, for programs of the user's (docs/tensors.md); part of session.hpp.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/graph/graph_info.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// What a tensor is made of. Rows of nodes are named by global ids, those of edges by original edge ids, others by 0
/// to `rows` - 1.
struct TensorOptions {
  TensorOf of = TensorOf::nodes;
  NodeTypeId node_type{};  ///< With `nodes`
  EdgeTypeId edge_type{};  ///< With `edges`
  std::uint64_t rows = 0;  ///< With `rows`
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape = {};  ///< Of a row; empty: one number
  /// Of float numbers: as learned rows start, by the tensor's name, the original id (of other rows than nodes' the
  /// row's number) and the place in the row.
  InitialRowsOptions init = {.kind = "zeros"};
  friend bool operator==(const TensorOptions& a, const TensorOptions& b) {
    return a.of == b.of && a.node_type == b.node_type && a.edge_type == b.edge_type &&
           a.rows == b.rows && a.dtype == b.dtype && a.shape == b.shape &&
           a.init.kind == b.init.kind &&  // only the number that the kind uses counts
           (a.init.kind != "normal" || a.init.std == b.init.std) &&
           (a.init.kind != "uniform" || a.init.scale == b.init.scale);
  }
};

/// The dtype that numbers of T are; for f16 and bf16 there are the calls with bytes.
template <class T>
constexpr DType tensor_dtype() {
  if constexpr (std::is_same_v<T, float>) {
    return DType::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::f64;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return DType::i32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::i64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>, "a type that tensors have");
    return DType::u8;
  }
}

/// A tensor of a session, or a column of the store, which is read only. A handle: copies are of the same tensor.
/// Lifecycle:  as long as its session, and until the tensor is deleted
/// Threads:    that of its session
/// Guarantees: what a call has written, every rank reads from its return on. Calls of other ranks that are under way
///   come before or after, row by row of a part
class DistTensor {
 public:
  struct State;
  explicit DistTensor(std::shared_ptr<State> state) : state_(std::move(state)) {}  ///< for Session

  const std::string& name() const;
  DType dtype() const;
  const std::vector<std::uint64_t>& shape() const;  ///< of a row
  std::uint64_t rows() const;                       ///< of all parts
  std::uint64_t row_bytes() const;
  bool read_only() const;

  /// Rows in the order of `ids`; duplicates allowed.
  /// \returns `values` [ids, shape]
  /// \errors invalid_argument: a row that is not there; not_found: the tensor was deleted, or of a column of edges an
  ///   edge that the import has left out; peer_lost: a holder has lost it
  Result<BatchColumn> read(std::span<const std::uint64_t> ids) const;
  Result<BatchColumn> read(std::span<const NodeId> nodes) const;
  /// Rows first, first + 1, …
  Result<BatchColumn> read_range(std::uint64_t first, std::uint64_t count) const;

  /// Replaces rows.
  /// \param values  [ids, shape]
  /// \errors invalid_argument: another dtype or size, a row that is not there; failed_precondition: a column of the
  ///   store; peer_lost: a holder has lost what was written
  template <class T>
  Status write(std::span<const std::uint64_t> ids, std::span<const T> values) {
    return put(ids, tensor_dtype<T>(), std::as_bytes(values), false);
  }
  /// Adds to rows, in the order of `ids`. Whole numbers wrap, sums of f16 and bf16 are rounded to the nearest. Sums of
  /// several ranks to one row depend on who comes first: for exact runs let one rank write a row.
  template <class T>
  Status add(std::span<const std::uint64_t> ids, std::span<const T> values) {
    return put(ids, tensor_dtype<T>(), std::as_bytes(values), true);
  }
  template <class T>
  Status write(std::span<const NodeId> nodes, std::span<const T> values) {
    return put(as_rows(nodes), tensor_dtype<T>(), std::as_bytes(values), false);
  }
  template <class T>
  Status add(std::span<const NodeId> nodes, std::span<const T> values) {
    return put(as_rows(nodes), tensor_dtype<T>(), std::as_bytes(values), true);
  }
  /// The same of any dtype; f16 and bf16 as their words.
  Status put(std::span<const std::uint64_t> ids, DType dtype, std::span<const std::byte> values,
             bool add);

  /// Writes all rows to an .npy file, in the order of original ids where they are nodes', else of their numbers; bf16 as
  /// u16 words. Reads some at a time: no process has them all. One rank calls it, while nobody writes.
  /// \errors failed_precondition: the file exists, or the disk; not_found: no such folder; those of read()
  Status export_npy(const std::filesystem::path& file) const;

 private:
  static std::vector<std::uint64_t> as_rows(std::span<const NodeId> nodes) {
    std::vector<std::uint64_t> rows(nodes.size());
    std::ranges::transform(nodes, rows.begin(), [](NodeId node) { return raw(node); });
    return rows;
  }
  std::shared_ptr<State> state_;
};

}  // namespace troupe
