#pragma once
/// \file held_tensors.hpp
/// The rows of tensors that one part has, for programs of the user's: written, added to and read by number.
#include "runtime/base/result.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// Threads:    one at a time
/// Guarantees: an operation is applied as a whole or not at all, and once; those of one writer in their order
class HeldTensors {
 public:
  /// \errors failed_precondition: an operation of the writer before it is missing (this holder was started anew
  ///   and has lost what was written); invalid_argument: what does not fit, too many tensors;
  ///   out_of_memory: no room for its rows
  Status make(const Part& part, const MakeTensor& request);
  /// \errors the same; not_found: no such tensor
  Status write(const Part& part, const WriteTensor& request);
  /// Rows in the order of the request.
  /// \errors not_found: no such tensor; invalid_argument: a row that the part does not have, other sizes
  Result<TensorRows> read(const Part& part, const ReadTensor& request) const;

  std::size_t size() const { return tensors_.size(); }

 private:
  struct Tensor {
    std::string name;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    DType dtype = DType::f32;
    std::size_t row_bytes = 0;
    std::vector<std::byte> values;
  };
  /// Whether an operation is the writer's next one; false: it was applied before.
  Result<bool> is_next(const Part& part, Rank writer, std::uint64_t operation) const;
  Status apply(const Part& part, const MakeTensor& request);
  /// \errors not_found
  Result<const Tensor*> find(const Part& part, std::uint32_t tensor) const;
  static Status check(const Tensor& tensor, const Part& part, const TensorPlaces& places,
                      std::uint64_t row_bytes);

  std::map<std::uint32_t, Tensor> tensors_;
  std::map<Rank, std::uint64_t> last_operation_;
};

}  // namespace troupe
