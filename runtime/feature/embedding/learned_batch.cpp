#include "runtime/feature/embedding/learned_batch.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

/// The section of a part that owns all of a batch's nodes with rows: they are in the batch's order. Null: there
/// are others.
const LearnedSection* all_rows(const ReadLearned& request, const LearnedInputs& rows) {
  const auto& sections = request.sections;
  const bool all =
      sections.size() == 1 && sections[0].nodes == rows[raw(sections[0].node_type)].rows();
  return all ? sections.data() : nullptr;
}

}  // namespace

LearnedBatch::LearnedBatch(std::shared_ptr<const EmbeddingPlan> plan, const PartitionBook& book,
                           std::shared_ptr<const SampledBatch> sampled)
    : plan_(std::move(plan)),
      parts_(book.parts()),
      sampled_(std::move(sampled)),
      rows_(sampled_->nodes.size()) {
  std::vector<Question> of_parts(parts_);
  std::vector<std::vector<std::uint32_t>> places(parts_);
  for (const auto& table : plan_->tables) {
    const auto& ids = sampled_->nodes[raw(table.node_type)].ids;
    rows_[raw(table.node_type)] = Matrix(ids.size(), table.dim);
    nodes_ += ids.size();
    row_bytes_ += ids.size() * table.dim * sizeof(float);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto part = raw(book.owner(table.node_type, ids[i]));
      auto& request = of_parts[part].request;
      if (request.sections.empty() || request.sections.back().node_type != table.node_type) {
        request.sections.push_back({.node_type = table.node_type, .cols = table.dim});
      }
      ++request.sections.back().nodes;
      request.nodes.push_back(ids[i]);
      places[part].push_back(static_cast<std::uint32_t>(i));
    }
  }
  for (std::uint32_t part = 0; part < parts_; ++part) {
    if (!places[part].empty()) {
      of_parts[part].part = static_cast<PartId>(part);
      questions_.push_back(std::move(of_parts[part]));
      places_.push_back(std::move(places[part]));
    }
  }
  missing_ = questions_.size();
  answered_.resize(missing_);
}

Status LearnedBatch::answer(std::size_t question, const LearnedRows& rows) {
  const auto& request = questions_[question].request;
  const auto values = rows.rows.as<float>();
  if (values.size() != learned_values(request.sections)) {
    return Error(Errc::data_corruption,
                 fmt::format("learned rows of part {}: expected {} numbers, found {}",
                             raw(questions_[question].part), learned_values(request.sections),
                             values.size()));
  }
  if (answered_[question]) {
    return ok_status();
  }
  answered_[question] = true;
  --missing_;
  if (const auto* all = all_rows(request, rows_)) {
    rows_[raw(all->node_type)] = Matrix::of(rows.rows, all->nodes, all->cols);
    return ok_status();
  }
  const float* from = values.data();
  const std::uint32_t* place = places_[question].data();
  for (const auto& section : request.sections) {
    const auto to = rows_[raw(section.node_type)].view();
    for (std::uint64_t i = 0; i < section.nodes; ++i) {
      std::copy_n(from, section.cols, to.row(*place++).begin());
      from += section.cols;
    }
  }
  return ok_status();
}

std::shared_ptr<const LearnedInputs> LearnedBatch::take() {
  TROUPE_ASSERT(done(), "learned rows are missing", missing_);
  return std::make_shared<const LearnedInputs>(std::move(rows_));
}

std::vector<SparseGradients> LearnedBatch::empty_shares(std::uint32_t parts) {
  return std::vector<SparseGradients>(parts);
}

std::vector<SparseGradients> LearnedBatch::shares(const LearnedInputs& gradients,
                                                  std::uint64_t weight) const {
  auto all = empty_shares(parts_);
  if (weight == 0) {
    return all;
  }
  for (auto& share : all) {
    share.weight = weight;
  }
  for (std::size_t q = 0; q < questions_.size(); ++q) {
    const auto& request = questions_[q].request;
    auto& share = all[raw(questions_[q].part)];
    share.sections = request.sections;
    share.nodes = request.nodes;
    if (const auto* whole = all_rows(request, gradients)) {
      share.rows = gradients[raw(whole->node_type)].share();
      continue;
    }
    Buffer buffer(learned_values(request.sections) * sizeof(float));
    float* to = buffer.as<float>().data();
    const std::uint32_t* place = places_[q].data();
    for (const auto& section : request.sections) {
      const auto from = gradients[raw(section.node_type)].view();
      for (std::uint64_t i = 0; i < section.nodes; ++i) {
        std::ranges::copy(from.row(*place++), to);
        to += section.cols;
      }
    }
    share.rows = std::move(buffer).freeze();
  }
  return all;
}

}  // namespace troupe
