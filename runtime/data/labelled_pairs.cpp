#include "runtime/data/labelled_pairs.hpp"

#include "runtime/data/npy_source.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace graph_source;

class PairsWithLabels final : public EdgeRows {
 public:
  PairsWithLabels(std::unique_ptr<EdgeRows> rows, std::string file, std::vector<float> labels,
                  Negatives negatives)
      : rows_(std::move(rows)),
        file_(std::move(file)),
        labels_(std::move(labels)),
        negatives_(negatives) {}

  std::uint64_t count() const override { return labels_.size(); }
  bool weights() const override { return negatives_ == Negatives::none; }

  Status read(Executor& executor, const TakeEdges& take) const override {
    std::uint64_t done = 0;
    const auto take_block = [&](const EdgePiece& piece) -> Status {
      const auto count = piece.sources.size();
      if (count > labels_.size() - done) {
        return wrong_count(done + count);
      }
      const auto labels = std::span(labels_).subspan(done, count);
      done += count;
      if (negatives_ == Negatives::none) {
        auto labelled = piece;
        labelled.weights = labels;
        return take(labelled);
      }
      return take_positive(piece, labels, take);
    };
    TROUPE_RETURN_IF_ERROR(rows_->read(executor, take_block));
    return done == labels_.size() ? ok_status() : Status(wrong_count(done));
  }

 private:
  static Status take_positive(const EdgePiece& piece, std::span<const float> labels,
                              const TakeEdges& take) {
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] != 0) {
        sources.push_back(piece.sources[i]);
        destinations.push_back(piece.destinations[i]);
      }
    }
    return take({sources, destinations});
  }

  Error wrong_count(std::uint64_t links) const {
    return npy_source::bad_input(
        file_, fmt::format("expected labels for {} links{}, one each, got {}", links,
                           links > labels_.size() ? " or more" : "", labels_.size()));
  }

  std::unique_ptr<EdgeRows> rows_;
  std::string file_;
  std::vector<float> labels_;
  Negatives negatives_;
};

}  // namespace

Result<LabelledPairs> with_labels(std::unique_ptr<EdgeRows> rows, const Table& labels,
                                  Negatives negatives, Executor& executor) {
  if (labels.cols() > 1) {
    return npy_source::bad_input(
        labels.file(), fmt::format("expected one label per link, got {}", labels.shape()));
  }
  std::vector<float> values;
  TROUPE_RETURN_IF_ERROR(labels.read_floats(executor, number_text::Missing::refused,
                                            [&values](std::span<const float> some) {
                                              values.insert(values.end(), some.begin(), some.end());
                                              return ok_status();
                                            }));
  LabelledPairs pairs;
  if (negatives == Negatives::by_label_0) {
    pairs.negatives = static_cast<std::uint64_t>(std::ranges::count(values, 0.0F));
  }
  pairs.rows = std::make_unique<PairsWithLabels>(std::move(rows), labels.file(), std::move(values),
                                                 negatives);
  return pairs;
}

}  // namespace troupe
