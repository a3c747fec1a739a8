#pragma once
/// \file frontier_share.hpp
/// What one place is asked along one edge type in a hop, and what it has answered. For
/// batch_builder*.cpp and walk_builder*.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/sample/hop_request.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// A part of the frontier, in frontier order. Answers are checked and kept as they lie; a list that was
/// cut continues in the next one.
class FrontierShare {
 public:
  /// \param trees  [nodes], or empty
  FrontierShare(PartId part, EdgeTypeId edge_type, std::span<const NodeId> nodes,
                std::span<const std::uint32_t> trees)
      : part_(part), edge_type_(edge_type), nodes_(nodes), trees_(trees) {}

  PartId part() const { return part_; }
  EdgeTypeId edge_type() const { return edge_type_; }
  /// Nodes without a whole answer.
  std::span<const NodeId> missing() const { return nodes_.subspan(covered_); }
  std::span<const std::uint32_t> missing_trees() const {
    return trees_.empty() ? trees_ : trees_.subspan(covered_);
  }
  /// Not 0: the list of missing().front() continues at this position.
  std::uint64_t resume_position() const { return resume_position_; }
  bool untouched() const { return first_.reply == nullptr; }
  bool complete() const { return covered_ == nodes_.size(); }

  struct Expected {
    std::int32_t fanout;
    EdgeData edge_data;
    std::uint64_t end;      ///< Every neighbor's id is below it
    std::uint64_t entries;  ///< Every entry number is
  };
  /// Takes an answer to missing().
  /// \param reply  keeps the answer alive
  /// \errors data_corruption: sizes, counts or ids that cannot be; a resume position that the counts
  ///   do not give
  Status take(HopSectionView answer, std::shared_ptr<const HopReply> reply,
              const Expected& expected);

  /// The answer, if one covers all nodes; else null.
  const HopSectionView* whole_answer() const {
    return complete() && answers() == 1 ? &first_.view : nullptr;
  }
  /// Calls `f(answer, first, count)` for the entries of the next node in each answer that has some.
  /// \requires complete(); at most once per node
  template <class F>
  void next_node(F&& f) {
    for (bool cut = true; cut;) {
      const HopSectionView& answer = this->answer(at_.answer).view;
      const std::uint32_t count = next_count(answer);
      f(answer, at_.entry, count);
      at_.entry += count;
      cut = false;
      if (++at_.node == answer.nodes) {
        cut = answer.resume_position != 0;
        at_ = {.answer = at_.answer + 1};
      }
    }
  }
  /// Calls `f(place, answer, first, count)` for the entries of every node that has some, by place in the
  /// share's nodes, in each answer that has some: ascending.
  /// \requires complete(); instead of next_node()
  template <class F>
  void each_list(F&& f) const {
    std::size_t first_node = 0;
    for (std::size_t a = 0; a < answers(); ++a) {
      const HopSectionView& answer = this->answer(a).view;
      std::size_t entry = 0;
      for (std::size_t i = 0; i < answer.counts.size(); ++i) {
        if (const std::uint32_t count = answer.counts[i]; count > 0) {
          f(first_node + (answer.places ? (*answer.places)[i] : i), answer, entry, count);
          entry += count;
        }
      }
      first_node += answer.nodes - (answer.resume_position != 0 ? 1 : 0);
    }
  }

 private:
  struct Answer {
    HopSectionView view;
    std::shared_ptr<const HopReply> reply;
  };
  struct Place {
    std::size_t answer = 0;
    std::size_t node = 0;
    std::size_t entry = 0;
    std::size_t listed = 0;  ///< Nodes before it that the answer lists
  };

  std::size_t answers() const { return untouched() ? 0 : 1 + later_.size(); }
  const Answer& answer(std::size_t i) const { return i == 0 ? first_ : later_[i - 1]; }

  std::uint32_t next_count(const HopSectionView& answer) {
    if (!answer.places) {
      return answer.counts[at_.node];
    }
    const bool here = at_.listed < answer.counts.size() && (*answer.places)[at_.listed] == at_.node;
    return here ? answer.counts[at_.listed++] : 0;
  }

  PartId part_;
  EdgeTypeId edge_type_;
  std::span<const NodeId> nodes_;
  std::span<const std::uint32_t> trees_;
  std::size_t covered_ = 0;  ///< nodes whose whole answer is in
  std::uint64_t resume_position_ = 0;
  Answer first_;               ///< Without a reply: there is none
  std::vector<Answer> later_;  ///< Most shares have one answer
  Place at_;
};

}  // namespace troupe
