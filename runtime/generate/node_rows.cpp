#include "runtime/generate/node_rows.hpp"

#include "runtime/base/even_share.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::generate {
namespace {

constexpr std::uint64_t values_per_task = std::uint64_t{1} << 16;
constexpr std::uint64_t values_per_block = std::uint64_t{1} << 22;
/// Deviation of the sum of four uniform bytes: the root of 21845.
constexpr double sum_deviation = 147.80054127099806;
constexpr float sum_mean = 510;

/// The sum of a word's bytes less its mean, -510 to 510.
float bell(std::uint32_t word) noexcept {
  const auto sum = (word & 0xFFU) + (word >> 8 & 0xFFU) + (word >> 16 & 0xFFU) + (word >> 24);
  return static_cast<float>(sum) - sum_mean;
}

/// Rows drawn on all threads, block by block.
class DrawnRows : public graph_source::FeatureRows {
 public:
  /// What u8 holds: values from `least` on, in 255 steps up to `most`; those below become 0.
  struct Range {
    double least = 0;
    double most = 0;
  };
  DrawnRows(const FeatureDraw& draw, Range range)
      : draw_(draw),
        key_(stream(draw.seed, draw.words, draw.type)),
        least_(static_cast<float>(range.least)),
        step_(static_cast<float>((range.most - range.least) / 255)) {}
  FeatureInfo info() const override {
    return {draw_.dtype, draw_.cols, draw_.dtype == DType::u8 ? step_ : 1.0F};
  }
  std::optional<std::uint64_t> rows() const override { return draw_.nodes; }
  const std::string& file() const override { return name_; }

  Status read(Executor& executor, const graph_source::TakeFloats& take) const override {
    const auto cols = draw_.cols;
    const auto per_task = std::max<std::uint64_t>(1, values_per_task / cols);
    const auto per_block = std::max<std::uint64_t>(1, values_per_block / cols);
    std::vector<float> block(std::min(draw_.nodes, per_block) * cols);
    for (std::uint64_t first = 0; first < draw_.nodes; first += per_block) {
      const auto rows = std::min(per_block, draw_.nodes - first);
      executor.parallel_for(chunks_of(rows, per_task), [&](std::size_t task) {
        const auto end = std::min(rows, (task + 1) * per_task);
        for (std::uint64_t row = task * per_task; row < end; ++row) {
          fill_row(first + row, std::span(block).subspan(row * cols, cols));
        }
      });
      TROUPE_RETURN_IF_ERROR(take(std::span(block).first(rows * cols)));
    }
    return ok_status();
  }

 protected:
  virtual void fill(std::uint64_t node, DrawStream& words, std::span<float> row) const = 0;
  const FeatureDraw& draw() const { return draw_; }

 private:
  void fill_row(std::uint64_t node, std::span<float> row) const {
    DrawStream words(key_, node);
    fill(node, words, row);
    if (draw_.dtype == DType::u8) {
      for (auto& value : row) {
        value = std::clamp(std::floor((value - least_) / step_ + 0.5F), 0.0F, 255.0F);
      }
    }
  }

  FeatureDraw draw_;
  StreamKey key_;
  float least_;  ///< of u8
  float step_;
  std::string name_ = "features";
};

class UniformRows final : public DrawnRows {
 public:
  explicit UniformRows(const FeatureDraw& draw) : DrawnRows(draw, {-0.5, 0.5}) {}

 protected:
  void fill(std::uint64_t, DrawStream& words, std::span<float> row) const override {
    std::ranges::generate(row, [&words] { return unit_float(words.next()) - 0.5F; });
  }
};

/// Random directions of length 1. Only operations that IEEE 754 rounds in one way.
std::vector<float> class_centres(std::uint64_t seed, std::uint64_t classes, std::uint64_t cols) {
  const auto key = stream(seed, Stream::centres);
  std::vector<float> centres(classes * cols);
  for (std::uint64_t c = 0; c < classes; ++c) {
    DrawStream words(key, c);
    const auto row = std::span(centres).subspan(c * cols, cols);
    double squares = 0;
    for (auto& value : row) {
      value = bell(words.next()) + 0.5F;  // never 0
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    const double length = std::sqrt(squares);
    for (auto& value : row) {
      value = static_cast<float>(static_cast<double>(value) / length);
    }
  }
  return centres;
}

class ClassRows final : public DrawnRows {
 public:
  ClassRows(const FeatureDraw& draw, std::shared_ptr<const NodeClasses> classes)
      : DrawnRows(draw, {0, 1 + draw.noise * 510 / sum_deviation}),
        classes_(std::move(classes)),
        centres_(class_centres(draw.seed, classes_->classes(), draw.cols)),
        scale_(static_cast<float>(draw.noise / sum_deviation)) {}

 protected:
  void fill(std::uint64_t node, DrawStream& words, std::span<float> row) const override {
    const auto cols = row.size();
    const auto* centre = centres_.data() + classes_->class_of_id(node) * cols;
    for (std::size_t j = 0; j < cols; ++j) {
      row[j] = centre[j] + scale_ * bell(words.next());
    }
  }

 private:
  std::shared_ptr<const NodeClasses> classes_;
  std::vector<float> centres_;
  float scale_;  ///< of noise
};

/// Labels drawn on all threads, block by block.
class DrawnLabels : public graph_source::LabelRows {
 public:
  DrawnLabels(std::uint64_t nodes, std::uint64_t classes) : nodes_(nodes), classes_(classes) {}
  LabelInfo info() const override { return {LabelInfo::Kind::classes, classes_}; }
  std::optional<std::uint64_t> rows() const override { return nodes_; }
  const std::string& file() const override { return name_; }

  Status read(Executor& executor, const graph_source::TakeIntegers& take,
              const graph_source::TakeFloats&) const override {
    constexpr std::uint64_t per_task = std::uint64_t{1} << 13;
    constexpr std::uint64_t per_block = std::uint64_t{1} << 20;
    std::vector<std::int64_t> block(std::min(nodes_, per_block));
    for (std::uint64_t first = 0; first < nodes_; first += per_block) {
      const auto rows = std::min(per_block, nodes_ - first);
      executor.parallel_for(chunks_of(rows, per_task), [&](std::size_t task) {
        const auto end = std::min(rows, (task + 1) * per_task);
        for (std::uint64_t row = task * per_task; row < end; ++row) {
          block[row] = static_cast<std::int64_t>(label_of(first + row));
        }
      });
      TROUPE_RETURN_IF_ERROR(take(std::span(block).first(rows)));
    }
    return ok_status();
  }

 protected:
  virtual std::uint64_t label_of(std::uint64_t node) const = 0;

 private:
  std::uint64_t nodes_;
  std::uint64_t classes_;
  std::string name_ = "labels";
};

class ClassLabels final : public DrawnLabels {
 public:
  explicit ClassLabels(std::shared_ptr<const NodeClasses> classes)
      : DrawnLabels(classes->nodes(), classes->classes()), classes_(std::move(classes)) {}

 protected:
  std::uint64_t label_of(std::uint64_t node) const override { return classes_->class_of_id(node); }

 private:
  std::shared_ptr<const NodeClasses> classes_;
};

class RandomLabels final : public DrawnLabels {
 public:
  RandomLabels(std::uint64_t nodes, std::uint64_t classes, std::uint64_t seed)
      : DrawnLabels(nodes, classes),
        key_(stream(seed, Stream::labels)),
        bound_(static_cast<std::uint32_t>(classes)) {}

 protected:
  std::uint64_t label_of(std::uint64_t node) const override {
    return DrawStream(key_, node).below(bound_);
  }

 private:
  StreamKey key_;
  std::uint32_t bound_;
};

}  // namespace

std::unique_ptr<graph_source::FeatureRows> uniform_features(const FeatureDraw& draw) {
  return std::make_unique<UniformRows>(draw);
}

std::unique_ptr<graph_source::FeatureRows> class_features(
    const FeatureDraw& draw, std::shared_ptr<const NodeClasses> classes) {
  return std::make_unique<ClassRows>(draw, std::move(classes));
}

std::unique_ptr<graph_source::LabelRows> class_labels(std::shared_ptr<const NodeClasses> classes) {
  return std::make_unique<ClassLabels>(std::move(classes));
}

std::unique_ptr<graph_source::LabelRows> random_labels(std::uint64_t nodes, std::uint64_t classes,
                                                       std::uint64_t seed) {
  return std::make_unique<RandomLabels>(nodes, classes, seed);
}

}  // namespace troupe::generate
