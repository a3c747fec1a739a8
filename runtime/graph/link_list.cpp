#include "runtime/graph/link_list.hpp"

#include "runtime/base/buffer.hpp"

#include <iterator>

namespace troupe {
namespace {

class LinksAt : public LinkRows {
 public:
  LinksAt(LinkList links, std::vector<std::uint64_t> positions)
      : links_(std::move(links)), positions_(std::move(positions)) {}

  std::uint64_t size() const override { return positions_.size(); }
  Link at(std::uint64_t position) const override { return links_.at(positions_[position]); }

 private:
  LinkList links_;
  std::vector<std::uint64_t> positions_;
};

template <class T>
std::vector<T> pick(std::span<const T> from, const std::vector<std::uint64_t>& positions) {
  std::vector<T> picked;
  if (!from.empty()) {
    picked.reserve(positions.size());
    std::ranges::transform(positions, std::back_inserter(picked),
                           [from](std::uint64_t position) { return from[position]; });
  }
  return picked;
}

}  // namespace

LinkList::LinkList(EdgeTypeId edge_type, std::shared_ptr<const LinkRows> rows,
                   std::vector<std::int64_t> times, std::vector<float> labels)
    : edge_type_(edge_type), rows_(std::move(rows)), count_(rows_->size()) {
  const auto kept_times = Segment::of(std::move(times));
  const auto kept_labels = Segment::of(std::move(labels));
  times_ = kept_times.as<std::int64_t>();
  labels_ = kept_labels.as<float>();
  owners_ = {kept_times.owner, kept_labels.owner};
}

LinkList links_at(const LinkList& links, std::vector<std::uint64_t> positions) {
  std::vector<LinkGroup> groups;
  for (const LinkGroup& group : links.groups()) {
    const auto begin = std::ranges::lower_bound(positions, group.first);
    const auto end = std::ranges::lower_bound(positions, group.first + group.count);
    groups.push_back({group.edge_type, static_cast<std::uint64_t>(begin - positions.begin()),
                      static_cast<std::uint64_t>(end - begin)});
  }
  auto times = pick(links.times(), positions);
  auto labels = pick(links.labels(), positions);
  const auto some =
      LinkList(links.edge_type(), std::make_shared<const LinksAt>(links, std::move(positions)),
               std::move(times), std::move(labels))
          .in_groups(std::move(groups));
  return links.pairs_of() ? some.as_pairs_of(*links.pairs_of()) : some;
}

}  // namespace troupe
