#pragma once
/// \file staged_rows.hpp
/// A process with some parts of a graph, whose rows a device reads as runtime/feature/row_slots.hpp numbers
/// them: tables in the test's memory, the rows of a batch one by one.
#include "runtime/feature/collecting_work.hpp"
#include "runtime/feature/row_slots.hpp"
#include "runtime/feature/staged_rows.hpp"
#include "tests/runtime/feature/collect.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace troupe::testing {

/// A part that keeps every other row of the nodes around it.
inline std::shared_ptr<const Part> part_with_halo(const CutGraph& cut, std::size_t part) {
  auto with = std::make_shared<Part>(*cut.parts[part]);
  for (std::size_t type = 0; type < with->nodes.size(); ++type) {
    auto& nodes = with->nodes[type];
    if (!nodes.features) {
      continue;
    }
    auto ids = std::make_shared<std::vector<std::uint64_t>>();
    auto originals = std::make_shared<std::vector<std::uint64_t>>();
    std::vector<std::byte> rows;
    for (std::uint64_t id = 0; id < cut.original_of[type].size(); ++id) {
      const auto owner = raw(cut.book->owner(static_cast<NodeTypeId>(type), NodeId{id}));
      if (owner == part || id % 2 == 0) {
        continue;
      }
      ids->push_back(id);
      originals->push_back(cut.original_of[type][id]);
      const auto& of_owner = cut.parts[owner]->nodes[type];
      const auto row = of_owner.features->row(of_owner.local(NodeId{id}));
      rows.insert(rows.end(), row.begin(), row.end());
    }
    nodes.halo_ids = *ids;
    nodes.halo_original_ids = *originals;
    nodes.halo = RankedSet(*ids, cut.original_of[type].size());
    nodes.halo_features =
        FeatureTable{nodes.features->info, ids->size(), Segment::of(std::move(rows))};
    with->owners.push_back(std::move(ids));
    with->owners.push_back(std::move(originals));
  }
  return with;
}

/// A process and its device.
class StagingProcess {
 public:
  /// \param here    parts of the process
  /// \param near    [piece] of 8 rows, so many are in the device's memory
  /// \param halos   parts keep rows around them
  StagingProcess(const CutGraph& cut, const std::set<std::uint32_t>& here, std::uint64_t near,
                 bool halos = false)
      : cut_(cut), pieces_(cut.info.node_types.size()) {
    std::vector<PartId> ids;
    for (const auto part : here) {
      parts_.push_back(halos ? part_with_halo(cut, part) : cut.parts[part]);
      ids.push_back(PartId{part});
    }
    for (std::size_t type = 0; type < pieces_.size(); ++type) {
      for (const auto& part : parts_) {
        const auto& nodes = part->nodes[type];
        pieces_[type].push_back({nodes.features ? nodes.count : 0, 0});
      }
      for (const auto& part : parts_) {
        const auto& rows = part->nodes[type].halo_features;
        pieces_[type].push_back({rows ? rows->rows : 0, 0});
      }
      for (auto& piece : pieces_[type]) {
        piece.near = piece.rows * near / 8;
      }
    }
    slots = std::make_shared<const RowSlots>(ids, pieces_);
  }

  const std::vector<std::shared_ptr<const Part>>& parts() const { return parts_; }
  std::shared_ptr<const Part> part_here(PartId id) const {
    for (const auto& part : parts_) {
      if (part->id == id) {
        return part;
      }
    }
    return nullptr;
  }
  CollectingInputs inputs(std::shared_ptr<const CollectOptions> options,
                          std::shared_ptr<const SampledBatch> sampled) const {
    CollectingInputs inputs;
    inputs.book = cut_.book;
    inputs.options = std::move(options);
    inputs.sampled = std::move(sampled);
    inputs.halos = parts_;
    inputs.part_here = [this](PartId part) { return part_here(part); };
    inputs.slots = slots;
    return inputs;
  }
  /// Collects as a collector does. Remote parts answer with replies.
  struct Collected {
    Batch batch;
    CollectedRows counts;
  };
  Collected collect(CollectingInputs inputs) const {
    CollectingWork work(std::move(inputs));
    std::vector<CollectingWork::Arrived> arrived;
    for (bool done = false; !done;) {
      auto step = work.step(std::exchange(arrived, {}));
      EXPECT_OK(step);
      done = !step || step->done;
      for (auto question = step->ask.rbegin(); question != step->ask.rend(); ++question) {
        EXPECT_EQ(part_here(question->part), nullptr);
        auto reply = read_part_rows(*cut_.parts[raw(question->part)], question->request);
        EXPECT_OK(reply);
        arrived.push_back({question->id, std::make_shared<const RowReply>(*std::move(reply))});
      }
    }
    const auto counts = work.counts();
    return {std::move(work).take(), counts};
  }

  /// As the device reads a row, and whether in which place.
  enum class Tier { near, far, staged };
  struct Read {
    std::span<const std::byte> row;
    Tier tier;
  };
  Read read(const StagedRows& staged, NodeTypeId type, std::uint64_t slot) const {
    const auto row_bytes = staged.types[raw(type)].row_bytes;
    for (const auto tier : {Tier::near, Tier::far}) {  // pieces one after the other
      for (std::size_t p = 0; p < pieces_[raw(type)].size(); ++p) {
        const auto& [rows, near] = pieces_[raw(type)][p];
        const auto count = tier == Tier::near ? near : rows - near;
        if (slot < count) {
          const auto& nodes = parts_[p % parts_.size()]->nodes[raw(type)];
          const auto& table = p < parts_.size() ? *nodes.features : *nodes.halo_features;
          return {table.row(slot + (tier == Tier::near ? 0 : near)), tier};
        }
        slot -= count;
      }
    }
    return {staged.rows(type).subspan(slot * row_bytes, row_bytes), Tier::staged};
  }

  std::shared_ptr<const RowSlots> slots;  ///< Those of another device may take their place

 private:
  const CutGraph& cut_;
  std::vector<std::shared_ptr<const Part>> parts_;
  std::vector<std::vector<RowPiece>> pieces_;
};

}  // namespace troupe::testing
