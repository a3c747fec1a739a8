#pragma once
/// \file batch.hpp
/// A batch as the Python part of the package reads it: numbers, and arrays that share its memory.
#include "runtime/feature/batch.hpp"

#include "python/array.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe::python {

/// Threads: any that hold the interpreter's lock; nothing in a batch changes
class BatchView {
 public:
  /// With its arrays in host memory.
  /// \param there  none: the batch is in host memory alone
  explicit BatchView(std::shared_ptr<const Batch> batch, std::optional<OnDevice> there = {})
      : batch_(std::move(batch)), there_(std::move(there)) {}

  /// The same batch with its arrays in the device's memory; None: they are in host memory alone.
  py::object on_device() const;
  /// Where the arrays are: "cpu", or the name of a device.
  std::string device() const;

  const Batch& batch() const { return *batch_; }
  const std::shared_ptr<const Batch>& owner() const { return batch_; }
  const SampledBatch& sampled() const { return *batch_->sampled; }

  /// Values of the batch.
  template <class T, class Allocator>
  Array array(const std::vector<T, Allocator>& values) const {
    return array(std::span<const T>(values));
  }
  template <class T>
  Array array(std::span<const T> values) const {
    return array(values, {static_cast<py::ssize_t>(values.size())});
  }
  template <class T>
  Array array(std::span<const T> values, Shape shape) const {
    return place(share(batch_, values, std::move(shape)));
  }
  /// Numbers about the batch, which are in host memory alone.
  template <class T, class Allocator>
  Array host_array(const std::vector<T, Allocator>& values) const {
    return share(batch_, values);
  }
  /// An array of the batch where the arrays of this view are.
  Array place(Array host) const;
  /// None where the batch does not have the values of `count` things.
  template <class T, class Allocator>
  py::object optional(const std::vector<T, Allocator>& values, std::size_t count) const {
    return values.empty() && count > 0 ? py::object(py::none()) : py::cast(array(values));
  }
  /// None for rows without columns.
  py::object rows(const Matrix& rows) const;
  /// Rows of features of nodes; None: there are none, or they are on a device alone.
  py::object features(std::size_t type) const;

  /// \throws py::index_error: no such type
  const BatchNodes& nodes(std::size_t type) const;
  const BatchEdges& edges(std::size_t type) const;
  const BatchRows& rows_of(std::size_t type) const;

 private:
  Array there(Array array, const void* data) const;

  std::shared_ptr<const Batch> batch_;
  std::optional<OnDevice> there_;
  bool arrays_there_ = false;  ///< The arrays of this view are those on the device
};

/// \param owner  what keeps the column's values
Array column_array(const BatchColumn& column, std::shared_ptr<const void> owner);
/// A column as its name, its array and whether its words are bfloat16.
py::tuple column_tuple(const BatchColumn& column, Array array);

void bind_batches(py::module_& module);

}  // namespace troupe::python
