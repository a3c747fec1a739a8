// Classes that a source keeps as floats, as OGB's binary archives do.
#include "runtime/data/table.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;
using number_text::Missing;

class FloatClasses final : public LabelRows {
 public:
  static Result<std::unique_ptr<FloatClasses>> create(Table table, Executor& executor) {
    auto classes = std::make_unique<FloatClasses>(std::move(table));
    std::int64_t largest = -1;
    TROUPE_RETURN_IF_ERROR(
        classes->read_classes(executor, [&largest](std::span<const std::int64_t> labels) {
          for (const auto label : labels) {
            largest = std::max(largest, label);
          }
          return ok_status();
        }));
    classes->classes_ = static_cast<std::uint64_t>(largest + 1);
    return classes;
  }
  explicit FloatClasses(Table table) : table_(std::move(table)) {}

  LabelInfo info() const override { return {LabelInfo::Kind::classes, classes_}; }
  std::optional<std::uint64_t> rows() const override { return table_.rows(); }
  const std::string& file() const override { return table_.file(); }
  Status read(Executor& executor, const TakeIntegers& take_classes,
              const TakeFloats&) const override {
    return read_classes(executor, take_classes);
  }

 private:
  Status read_classes(Executor& executor, const TakeIntegers& take) const {
    constexpr auto end = static_cast<float>(store_layout::largest_cols);
    std::vector<std::int64_t> labels;
    std::uint64_t row = 0;
    return table_.read_floats(
        executor, Missing::is_nan, [&](std::span<const float> values) -> Status {
          labels.clear();
          for (const auto value : values) {
            const bool known = !std::isnan(value);
            if (known && !(value >= -1 && value < end && value == std::floor(value))) {
              return bad_input(file(), fmt::format("row {}: expected a label, an integer from -1 "
                                                   "(none) to {}, or NaN, got {}",
                                                   row, store_layout::largest_cols - 1, value));
            }
            labels.push_back(known ? static_cast<std::int64_t>(value) : -1);
            ++row;
          }
          return take(labels);
        });
  }

  Table table_;
  std::uint64_t classes_ = 0;
};

}  // namespace

Result<std::unique_ptr<LabelRows>> classes_of(Table table, Executor& executor) {
  if (!table.as_list()) {
    return bad_input(table.file(),
                     fmt::format("expected one label per node, got {}", table.shape()));
  }
  if (table.integers()) {
    return labels_of(std::move(table), {}, executor);
  }
  TROUPE_ASSIGN_OR_RETURN(auto classes, FloatClasses::create(std::move(table), executor));
  return std::unique_ptr<LabelRows>(std::move(classes));
}

}  // namespace troupe
