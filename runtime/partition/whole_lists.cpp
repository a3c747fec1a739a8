#include "runtime/partition/whole_lists.hpp"

#include "runtime/base/external_sort.hpp"
#include "runtime/base/scratch_file.hpp"

#include <array>

namespace troupe {
namespace {

/// An edge on its way to its source's list. They are given by destination, so among equal keys the
/// stable order is that of the destinations and places.
struct OutEdge {
  std::uint64_t source = 0;
  std::uint64_t time =
      0;  ///< shifted so that the order is that of unsigned numbers; 0 without times
  std::uint64_t destination = 0;
  std::uint64_t place = 0;
  std::array<std::uint64_t, 2> key() const { return {source, time}; }
};

constexpr std::size_t block_edges = std::size_t{1} << 16;

Status add_edges(const NeighbourLists& lists, std::uint64_t nodes, ExternalSort<OutEdge>& sort) {
  constexpr auto sign = std::uint64_t{1} << 63;
  std::vector<OutEdge> block;
  const auto give = [&]() -> Status {
    auto done = sort.add(block);
    block.clear();
    return done;
  };
  return lists.neighbours.visit([&](auto ids) -> Status {
    for (std::uint64_t v = 0; v < nodes; ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        const auto time =
            lists.times.empty() ? 0 : static_cast<std::uint64_t>(lists.times[i]) ^ sign;
        block.push_back({std::uint64_t{ids[i]}, time, v, i});
        if (block.size() == block_edges) {
          TROUPE_RETURN_IF_ERROR(give());
        }
      }
    }
    return give();
  });
}

/// Writes sorted edges as lists.
class OutListWriter {
 public:
  static Result<OutListWriter> create(const std::filesystem::path& scratch, std::uint64_t sources,
                                      std::uint64_t destinations) {
    TROUPE_ASSIGN_OR_RETURN(auto neighbours, ScratchFile::create(scratch));
    TROUPE_ASSIGN_OR_RETURN(auto places, ScratchFile::create(scratch));
    return OutListWriter(std::move(neighbours), std::move(places), sources,
                         id_width_bytes(destinations));
  }

  Status take(std::span<const OutEdge> sorted) {
    bytes_.clear();
    places_of_block_.clear();
    for (const auto& edge : sorted) {
      ++offsets_[edge.source + 1];
      const auto* id = reinterpret_cast<const std::byte*>(&edge.destination);  // little endian
      bytes_.insert(bytes_.end(), id, id + width_);
      places_of_block_.push_back(edge.place);
    }
    TROUPE_RETURN_IF_ERROR(neighbours_.append(bytes_));
    return places_.append(std::as_bytes(std::span(places_of_block_)));
  }

  Result<WholeLists> finish() {
    for (std::size_t v = 1; v < offsets_.size(); ++v) {
      offsets_[v] += offsets_[v - 1];
    }
    WholeLists lists;
    TROUPE_ASSIGN_OR_RETURN(auto neighbours, neighbours_.map());
    TROUPE_ASSIGN_OR_RETURN(auto places, places_.map());
    lists.owners = {Segment::of(std::move(offsets_)), std::move(neighbours), std::move(places)};
    lists.offsets = lists.owners[0].as<std::uint64_t>();
    lists.neighbours = IdSpan(lists.owners[1].bytes, width_);
    lists.places = lists.owners[2].as<std::uint64_t>();
    return lists;
  }

 private:
  OutListWriter(ScratchFile neighbours, ScratchFile places, std::uint64_t sources,
                std::uint8_t width)
      : neighbours_(std::move(neighbours)),
        places_(std::move(places)),
        offsets_(sources + 1, 0),
        width_(width) {}

  ScratchFile neighbours_;
  ScratchFile places_;
  std::vector<std::uint64_t> offsets_;
  std::uint8_t width_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> places_of_block_;
};

}  // namespace

WholeLists whole_in_lists(const GraphStore& graph, EdgeTypeId type) {
  const auto& lists = graph.graph()->edges[raw(type)].in;
  WholeLists whole;
  whole.offsets = lists.offsets;
  whole.neighbours = lists.neighbours;
  return whole;
}

Result<WholeLists> whole_out_lists(const GraphStore& graph, EdgeTypeId type,
                                   const std::filesystem::path& scratch, std::uint64_t memory_bytes,
                                   Executor& executor) {
  const auto& info = graph.info();
  const auto& edges = info.edge_types[raw(type)];
  const auto sources = info.node_types[raw(edges.source)].count;
  const auto destinations = info.node_types[raw(edges.destination)].count;
  ExternalSort<OutEdge> sort({scratch, memory_bytes}, executor);
  TROUPE_RETURN_IF_ERROR(add_edges(graph.graph()->edges[raw(type)].in, destinations, sort));
  TROUPE_ASSIGN_OR_RETURN(auto writer, OutListWriter::create(scratch, sources, destinations));
  TROUPE_RETURN_IF_ERROR(
      sort.finish([&](std::span<const OutEdge> sorted) { return writer.take(sorted); }));
  return writer.finish();
}

}  // namespace troupe
