#pragma once
/// \file link_list.hpp
/// Links of a split, or whatever else a job trains on pair by pair.
#include "runtime/base/ids.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// One link: an edge as a seed. It need not be an edge of the graph.
struct Link {
  OriginalId original_source{};
  OriginalId original_destination{};
  NodeId source{};  ///< In an unpartitioned store equal to the original id
  NodeId destination{};
  friend bool operator==(const Link&, const Link&) = default;
};

/// Links of one edge type in a list that has several.
struct LinkGroup {
  EdgeTypeId edge_type{};
  std::uint64_t first = 0;  ///< position in the list
  std::uint64_t count = 0;
  friend bool operator==(const LinkGroup&, const LinkGroup&) = default;
};

/// Links that are found by their position where an array of all would be too large.
/// Threads: const functions from any number at once
class LinkRows {
 public:
  LinkRows() = default;
  LinkRows(const LinkRows&) = delete;
  LinkRows& operator=(const LinkRows&) = delete;
  virtual ~LinkRows() = default;

  virtual std::uint64_t size() const = 0;
  virtual Link at(std::uint64_t position) const = 0;
};

/// Links of one role of one split, in order of original (source, destination), equal ones as the
/// data had them. Lies in the store's file, or is of LinkRows. Links of several edge types come group
/// after group, each in this order.
/// Threads: immutable; any number at once
class LinkList {
 public:
  LinkList() = default;
  /// \param ends  [links, 4]: original source and destination, global source and destination; or
  ///   [links, 2] where global ids are the original ones
  /// \param owners  keep the arrays alive
  LinkList(EdgeTypeId edge_type, std::span<const std::uint64_t> ends, std::size_t columns,
           std::span<const std::int64_t> times, std::span<const float> labels,
           std::vector<std::shared_ptr<const void>> owners)
      : edge_type_(edge_type),
        ends_(ends),
        columns_(columns),
        count_(ends.size() / columns),
        times_(times),
        labels_(labels),
        owners_(std::move(owners)) {}
  /// \param times, labels  [rows], or empty
  LinkList(EdgeTypeId edge_type, std::shared_ptr<const LinkRows> rows,
           std::vector<std::int64_t> times = {}, std::vector<float> labels = {});

  EdgeTypeId edge_type() const { return edge_type_; }  ///< that of the first group, where there are
  /// Empty: all links are of edge_type().
  const std::vector<LinkGroup>& groups() const { return groups_; }
  /// The same, with one group of all links where there are none.
  std::vector<LinkGroup> groups_or_all() const {
    return groups_.empty() ? std::vector{LinkGroup{edge_type_, 0, size()}} : groups_;
  }
  /// \requires groups that follow each other and have all links
  LinkList in_groups(std::vector<LinkGroup> groups) const {
    auto list = *this;
    list.groups_ = std::move(groups);
    return list;
  }
  /// Both ends are nodes of this type, whatever the edge type joins; none: those that it joins.
  std::optional<NodeTypeId> pairs_of() const { return pairs_of_; }
  LinkList as_pairs_of(NodeTypeId type) const {
    auto list = *this;
    list.pairs_of_ = type;
    return list;
  }
  LinkList without_labels() const {
    auto list = *this;
    list.labels_ = {};
    return list;
  }
  EdgeTypeId edge_type_at(std::uint64_t position) const {
    for (const auto& group : groups_) {
      if (position < group.first + group.count) {
        return group.edge_type;
      }
    }
    return edge_type_;
  }
  std::uint64_t size() const { return count_; }
  Link at(std::uint64_t position) const {
    if (rows_ != nullptr) {
      return rows_->at(first_ + position);
    }
    const auto row = ends_.subspan((first_ + position) * columns_, columns_);
    return {static_cast<OriginalId>(row[0]), static_cast<OriginalId>(row[1]),
            static_cast<NodeId>(row[columns_ - 2]), static_cast<NodeId>(row[columns_ - 1])};
  }
  /// The links at positions [first, first + count). \requires they are there
  LinkList slice(std::uint64_t first, std::uint64_t count) const {
    auto some = *this;
    some.first_ = first_ + first;
    some.count_ = count;
    some.times_ = times_.empty() ? times_ : times_.subspan(first, count);
    some.labels_ = labels_.empty() ? labels_ : labels_.subspan(first, count);
    for (auto& group : some.groups_) {
      const auto begin = std::clamp(group.first, first, first + count);
      const auto end = std::clamp(group.first + group.count, first, first + count);
      group = {group.edge_type, begin - first, end - begin};
    }
    return some;
  }
  std::span<const std::int64_t> times() const { return times_; }  ///< [links], or empty
  std::span<const float> labels() const { return labels_; }       ///< [links], or empty

 private:
  EdgeTypeId edge_type_{};
  std::shared_ptr<const LinkRows> rows_;  ///< Null: they are `ends_`
  std::span<const std::uint64_t> ends_;
  std::size_t columns_ = 2;
  std::uint64_t first_ = 0;  ///< Position in `rows_` or `ends_`
  std::uint64_t count_ = 0;
  std::span<const std::int64_t> times_;
  std::span<const float> labels_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<LinkGroup> groups_ = {};
  std::optional<NodeTypeId> pairs_of_ = {};
};

/// The links at these positions, in their order, with times and labels.
/// \requires positions of the list, ascending where it has groups
/// \cost  8 bytes a link, and those of times and labels; what `links` is made of stays
LinkList links_at(const LinkList& links, std::vector<std::uint64_t> positions);

}  // namespace troupe
