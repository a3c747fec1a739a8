#pragma once
/// \file gathered_labels.hpp
/// Labels of nodes that a source keeps beside the seeds of its sets.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Labels of nodes, gathered from the seeds of all sets.
class GatheredLabels final : public graph_source::LabelRows {
 public:
  GatheredLabels(std::string file, std::uint64_t nodes, std::optional<std::uint64_t> classes)
      : file_(std::move(file)), classes_(classes), labels_(nodes, -1) {}

  LabelInfo info() const override {
    return {LabelInfo::Kind::classes, classes_.value_or(static_cast<std::uint64_t>(largest_ + 1))};
  }
  std::optional<std::uint64_t> rows() const override { return labels_.size(); }
  const std::string& file() const override { return file_; }
  Status read(Executor&, const graph_source::TakeIntegers& take_classes,
              const graph_source::TakeFloats&) const override {
    return take_classes(labels_);
  }

  Status set(std::uint64_t node, std::int64_t label, std::uint64_t row, const std::string& file) {
    const auto end = static_cast<std::int64_t>(classes_.value_or(store_layout::largest_cols));
    auto& known = labels_[node];
    if (label < -1 || label >= end || (known != -1 && known != label)) {
      return npy_source::bad_input(
          file, known != -1 && known != label
                    ? fmt::format("row {}: expected label {} for node {}, as another "
                                  "set says, got {}",
                                  row, known, node, label)
                    : fmt::format("row {}: expected a label from -1 (none) to {}, got "
                                  "{}",
                                  row, end - 1, label));
    }
    known = label;
    largest_ = std::max(largest_, label);
    return ok_status();
  }

 private:
  std::string file_;
  std::optional<std::uint64_t> classes_;
  std::vector<std::int64_t> labels_;
  std::int64_t largest_ = -1;
};

}  // namespace troupe
