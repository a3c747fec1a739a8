#include "runtime/sample/choice/within.hpp"

#include "runtime/sample/choice/positions_ahead.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t sparse_ids = 256;  // a node: beyond, a bit per id is more than a table

/// A set of ids that is asked for every entry of many lists.
class NodeSet {
 public:
  explicit NodeSet(std::span<const NodeId> nodes) {
    if (nodes.empty()) {
      return;
    }
    const auto [low, high] = std::ranges::minmax(nodes);
    lowest_ = raw(low);
    if ((raw(high) - lowest_) / sparse_ids > nodes.size()) {
      sparse_ = true;
      table_.reserve(nodes.size());
      for (const auto node : nodes) {
        if (raw(node) != ~std::uint64_t{0}) {  // which no table holds, and no list
          table_.find_or_insert(raw(node), 0);
        }
      }
      return;
    }
    bits_.resize((raw(high) - lowest_) / 64 + 1);
    for (const auto node : nodes) {
      bits_[(raw(node) - lowest_) / 64] |= std::uint64_t{1} << (raw(node) - lowest_) % 64;
    }
  }

  bool contains(std::uint64_t id) const {
    if (sparse_) {
      return table_.find(id).has_value();
    }
    const auto at = id - lowest_;
    return at / 64 < bits_.size() && (bits_[at / 64] >> at % 64 & 1U) != 0;
  }

 private:
  std::uint64_t lowest_ = 0;
  PooledVector<std::uint64_t> bits_;
  bool sparse_ = false;
  IdIndex table_;
};

class Within : public PositionsAhead {
 public:
  Within(const ChoiceOptions& options, std::span<const NodeId> nodes)
      : neighbours_(options.neighbours), set_(nodes) {}

 private:
  bool takes_all(const Stretch& /*stretch*/) const override { return false; }

  void find(StreamKey /*key*/, const Stretch& stretch,
            PooledVector<std::uint32_t>& positions) override {
    neighbours_.visit([&](auto all) {
      const auto list = all.subspan(stretch.first_entry, stretch.entries);
      for (std::uint32_t i = 0; i < list.size(); ++i) {
        if (set_.contains(list[i]) && !std::ranges::binary_search(stretch.excluded, i)) {
          positions.push_back(i);
        }
      }
    });
  }

  IdSpan neighbours_;
  NodeSet set_;
};

}  // namespace

std::unique_ptr<Choice> make_within(const ChoiceOptions& options, std::span<const NodeId> nodes) {
  return std::make_unique<Within>(options, nodes);
}

}  // namespace troupe
