#pragma once
/// \file batch.hpp
/// A batch as the Python part of the package reads it: numbers, and arrays that share its memory.
#include "runtime/feature/batch.hpp"

#include "python/array.hpp"

#include <memory>
#include <utility>

namespace troupe::python {

/// Threads: any that hold the interpreter's lock; nothing in a batch changes
class BatchView {
 public:
  explicit BatchView(std::shared_ptr<const Batch> batch) : batch_(std::move(batch)) {}

  const Batch& batch() const { return *batch_; }
  const std::shared_ptr<const Batch>& owner() const { return batch_; }
  const SampledBatch& sampled() const { return *batch_->sampled; }

  /// Values of the batch.
  template <class T, class Allocator>
  Array array(const std::vector<T, Allocator>& values) const {
    return share(batch_, values);
  }
  template <class T>
  Array array(std::span<const T> values) const {
    return share(batch_, values, {static_cast<py::ssize_t>(values.size())});
  }
  /// None where the batch does not have the values of `count` things.
  template <class T, class Allocator>
  py::object optional(const std::vector<T, Allocator>& values, std::size_t count) const {
    return values.empty() && count > 0 ? py::object(py::none()) : py::cast(array(values));
  }
  /// None for rows without columns.
  py::object rows(const Matrix& rows) const;

  /// \throws py::index_error: no such type
  const BatchNodes& nodes(std::size_t type) const;
  const BatchEdges& edges(std::size_t type) const;
  const BatchRows& rows_of(std::size_t type) const;

 private:
  std::shared_ptr<const Batch> batch_;
};

/// A column as its name, its array and whether its words are bfloat16.
/// \param owner  what keeps its values
py::tuple column_tuple(const BatchColumn& column, std::shared_ptr<const void> owner);

void bind_batches(py::module_& module);

}  // namespace troupe::python
