#include "runtime/data/edge_lists.hpp"

#include "runtime/base/external_sort.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/data/npy_stream.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace troupe::stream_store {
namespace {

/// In an edge's id while the number of edges is not known: the reverse of that edge. Above all ids.
constexpr std::uint64_t reversed_bit = std::uint64_t{1} << 63;

struct CompactEdge {
  std::uint32_t owner = 0;  ///< whose list it is in
  std::uint32_t neighbour = 0;
  std::uint64_t id = 0;
  /// Edges are given by ascending id, so among equal keys the stable order is that of the ids.
  std::array<std::uint64_t, 2> key() const {
    return {std::uint64_t{owner} << 32 | neighbour, id & reversed_bit};
  }
};

struct WideEdge {
  std::uint64_t owner = 0;
  std::uint64_t neighbour = 0;
  std::uint64_t id = 0;
  std::array<std::uint64_t, 3> key() const { return {owner, neighbour, id & reversed_bit}; }
};

constexpr std::size_t block_edges = std::size_t{1} << 17;

/// Writes the three arrays of sorted edges, each on a thread of its own.
template <class Edge>
class ListWriter {
 public:
  static Result<ListWriter> create(const ListTarget& target, std::uint64_t most_edges, bool dedup,
                                   Executor& executor) {
    const bool narrow = id_width_bytes(target.neighbour_count) == 4;
    const auto make = [&](std::size_t which, NpyType type) {
      const auto path = target.dir / target.paths[which];
      return dedup ? NpyStream::create_open_ended(path, type)
                   : NpyStream::create(path, type, {most_edges});
    };
    TROUPE_ASSIGN_OR_RETURN(auto offsets,
                            NpyStream::create(target.dir / target.paths[0], npy_type(DType::u64),
                                              {target.owner_count + 1}));
    TROUPE_ASSIGN_OR_RETURN(auto neighbours, make(1, npy_type(narrow ? DType::u32 : DType::u64)));
    TROUPE_ASSIGN_OR_RETURN(auto ids, make(2, npy_type(DType::u64)));
    return ListWriter(target, dedup, executor, narrow,
                      {std::move(offsets), std::move(neighbours), std::move(ids)});
  }

  Status take(std::span<const Edge> sorted) {
    for (std::size_t first = 0; first < sorted.size(); first += block_edges) {
      const auto part = sorted.subspan(first, std::min(block_edges, sorted.size() - first));
      TROUPE_RETURN_IF_ERROR(write_block(dedup_ ? without_repeats(part) : part));
    }
    return ok_status();
  }

  Result<WrittenLists> finish() {
    TROUPE_RETURN_IF_ERROR(write_offsets_up_to(target_.owner_count + 1));
    TROUPE_RETURN_IF_ERROR(streams_[0].write_elements<std::uint64_t>(offsets_));
    WrittenLists written;
    written.edges = edges_;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(streams_[i].close());
      written.files.push_back(streams_[i].info(target_.paths[i]));
    }
    return written;
  }

 private:
  ListWriter(const ListTarget& target, bool dedup, Executor& executor, bool narrow,
             std::array<NpyStream, 3> streams)
      : target_(target),
        dedup_(dedup),
        executor_(&executor),
        narrow_(narrow),
        streams_(std::move(streams)) {}

  /// The first of each (owner, neighbour): the one with the smallest id.
  std::span<const Edge> without_repeats(std::span<const Edge> sorted) {
    kept_.clear();
    for (const auto& edge : sorted) {
      if (!any_ || edge.owner != last_.owner || edge.neighbour != last_.neighbour) {
        kept_.push_back(edge);
      }
      last_ = edge;
      any_ = true;
    }
    return kept_;
  }

  Status write_block(std::span<const Edge> edges) {
    std::array<Status, 3> done{ok_status(), ok_status(), ok_status()};
    executor_->parallel_for(3, [&](std::size_t which) {
      done[which] = which == 0   ? write_offsets(edges)
                    : which == 1 ? write_neighbours(edges)
                                 : write_ids(edges);
    });
    for (auto& status : done) {
      TROUPE_RETURN_IF_ERROR(std::move(status));
    }
    edges_ += edges.size();
    if (target_.on_written) {
      target_.on_written(edges_);
    }
    return ok_status();
  }

  Status write_offsets(std::span<const Edge> edges) {
    position_ = edges_;
    for (const auto& edge : edges) {
      if (edge.owner >= next_owner_) {
        TROUPE_RETURN_IF_ERROR(write_offsets_up_to(std::uint64_t{edge.owner} + 1));
      }
      ++position_;
    }
    return ok_status();
  }

  /// The offsets of owners before `end` that have none yet: where we are.
  Status write_offsets_up_to(std::uint64_t end) {
    for (; next_owner_ < end; ++next_owner_) {
      offsets_.push_back(position_);
      if (offsets_.size() == block_edges) {
        TROUPE_RETURN_IF_ERROR(streams_[0].write_elements<std::uint64_t>(offsets_));
        offsets_.clear();
      }
    }
    return ok_status();
  }

  Status write_neighbours(std::span<const Edge> edges) {
    if (!narrow_) {
      wide_.resize(edges.size());
      std::ranges::transform(edges, wide_.begin(),
                             [](const Edge& edge) { return std::uint64_t{edge.neighbour}; });
      return streams_[1].write_elements<std::uint64_t>(wide_);
    }
    narrow_ids_.resize(edges.size());
    std::ranges::transform(edges, narrow_ids_.begin(), [](const Edge& edge) {
      return static_cast<std::uint32_t>(edge.neighbour);
    });
    return streams_[1].write_elements<std::uint32_t>(narrow_ids_);
  }

  Status write_ids(std::span<const Edge> edges) {
    ids_.resize(edges.size());
    std::ranges::transform(edges, ids_.begin(), [this](const Edge& edge) {
      return (edge.id & reversed_bit) == 0 ? edge.id
                                           : (edge.id ^ reversed_bit) + target_.first_reversed_id;
    });
    return streams_[2].write_elements<std::uint64_t>(ids_);
  }

  ListTarget target_;
  bool dedup_;
  Executor* executor_;
  bool narrow_;  ///< neighbours take 4 bytes
  std::array<NpyStream, 3> streams_;
  std::uint64_t edges_ = 0;  ///< written
  std::uint64_t position_ = 0;
  std::uint64_t next_owner_ = 0;  ///< whose offset comes next
  bool any_ = false;
  Edge last_{};
  std::vector<Edge> kept_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> wide_;
  std::vector<std::uint32_t> narrow_ids_;
  std::vector<std::uint64_t> ids_;
};

template <class Edge>
class SortedEdgeLists final : public EdgeLists {
 public:
  SortedEdgeLists(const EdgeListsOptions& options, Executor& executor)
      : options_(options),
        executor_(executor),
        sort_({options.scratch, options.memory_bytes}, executor) {}

  std::uint64_t size() const override { return sort_.size(); }

  Status add(const EdgeBlock& block) override {
    constexpr std::size_t chunk_edges = std::size_t{1} << 14;
    const auto count = block.sources.size();
    const auto step = chunk_edges * executor_.concurrency();
    packed_.resize(executor_.concurrency());
    for (std::size_t first = 0; first < count; first += step) {
      const auto chunks = (std::min(step, count - first) + chunk_edges - 1) / chunk_edges;
      executor_.parallel_for(chunks, [&](std::size_t chunk) {
        const auto begin = first + chunk * chunk_edges;
        pack(block, begin, std::min(begin + chunk_edges, count), packed_[chunk]);
      });
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        TROUPE_RETURN_IF_ERROR(sort_.add(packed_[chunk]));
      }
    }
    return ok_status();
  }

  Result<WrittenLists> write(const ListTarget& target) override {
    packed_ = {};
    TROUPE_ASSIGN_OR_RETURN(
        auto writer, ListWriter<Edge>::create(target, sort_.size(), options_.dedup, executor_));
    TROUPE_RETURN_IF_ERROR(
        sort_.finish([&](std::span<const Edge> sorted) { return writer.take(sorted); }));
    return writer.finish();
  }

 private:
  void pack(const EdgeBlock& block, std::size_t begin, std::size_t end,
            std::vector<Edge>& packed) const {
    packed.clear();
    using Id = decltype(Edge::owner);
    for (auto i = begin; i < end; ++i) {
      const auto source = static_cast<Id>(block.sources[i]);
      const auto destination = static_cast<Id>(block.destinations[i]);
      if (options_.drop_self_loops && source == destination) {
        continue;
      }
      const auto id = block.first_id + i;
      if (!options_.reversed) {
        packed.push_back({destination, source, id});
      }
      if (options_.reversed || options_.symmetrize) {
        packed.push_back({source, destination, id | reversed_bit});
      }
    }
  }

  EdgeListsOptions options_;
  Executor& executor_;
  ExternalSort<Edge> sort_;
  std::vector<std::vector<Edge>> packed_;  ///< [chunk]
};

}  // namespace

std::unique_ptr<EdgeLists> make_edge_lists(const EdgeListsOptions& options, Executor& executor) {
  if (options.compact) {
    return std::make_unique<SortedEdgeLists<CompactEdge>>(options, executor);
  }
  return std::make_unique<SortedEdgeLists<WideEdge>>(options, executor);
}

}  // namespace troupe::stream_store
