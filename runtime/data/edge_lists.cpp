#include "runtime/data/edge_lists.hpp"

#include "runtime/base/external_sort.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/data/npy_stream.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

namespace troupe::stream_store {
namespace {

/// In an edge's id while the number of edges is not known: the reverse of that edge. Above all ids.
constexpr std::uint64_t reversed_bit = std::uint64_t{1} << 63;

struct NoData {};
struct EdgeData {
  std::int64_t time = 0;  ///< all the same without times
  float weight = 0;
};

/// An edge on its way, in the form that is sorted. Edges are given by ascending id, so among equal
/// keys the stable order is that of the ids.
template <class Id, class Data>
struct Edge {
  Id owner = 0;  ///< whose list it is in
  Id neighbour = 0;
  std::uint64_t id = 0;
  [[no_unique_address]] Data data{};

  auto key() const {
    if constexpr (std::is_same_v<Data, EdgeData>) {
      constexpr auto sign = std::uint64_t{1} << 63;
      return std::array<std::uint64_t, 4>{owner, static_cast<std::uint64_t>(data.time) ^ sign,
                                          neighbour, id & reversed_bit};
    } else if constexpr (sizeof(Id) == 4) {
      return std::array<std::uint64_t, 2>{std::uint64_t{owner} << 32 | neighbour,
                                          id & reversed_bit};
    } else {
      return std::array<std::uint64_t, 3>{owner, neighbour, id & reversed_bit};
    }
  }
};

constexpr std::size_t block_edges = std::size_t{1} << 17;

/// The arrays of a type's lists, by their place in ListWriter's streams.
enum class Column : std::uint8_t { offsets, neighbours, edge_ids, weights, times };
constexpr std::array<std::string_view, 5> column_names{"offsets", "neighbours", "edge_ids",
                                                       "weights", "times"};

/// Writes the arrays of sorted edges, each on a thread of its own.
template <class Edge>
class ListWriter {
 public:
  static Result<ListWriter> create(const ListTarget& target, const EdgeListsOptions& options,
                                   std::uint64_t most_edges, Executor& executor) {
    ListWriter writer(target, options.dedup, executor);
    const auto ids = writer.narrow_ ? DType::u32 : DType::u64;
    TROUPE_RETURN_IF_ERROR(writer.open(Column::offsets, DType::u64, target.owner_count + 1, false));
    TROUPE_RETURN_IF_ERROR(writer.open(Column::neighbours, ids, most_edges, options.dedup));
    TROUPE_RETURN_IF_ERROR(writer.open(Column::edge_ids, DType::u64, most_edges, options.dedup));
    if (options.weights) {
      TROUPE_RETURN_IF_ERROR(writer.open(Column::weights, DType::f32, most_edges, options.dedup));
    }
    if (options.times) {
      TROUPE_RETURN_IF_ERROR(writer.open(Column::times, DType::i64, most_edges, options.dedup));
    }
    return writer;
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
    TROUPE_RETURN_IF_ERROR(arrays_[0].stream.template write_elements<std::uint64_t>(offsets_));
    WrittenLists written;
    written.edges = edges_;
    for (auto& array : arrays_) {
      TROUPE_RETURN_IF_ERROR(array.stream.close());
      written.files.push_back(array.stream.info(path_of(array.column)));
    }
    return written;
  }

 private:
  struct Array {
    Column column;
    NpyStream stream;
  };

  ListWriter(const ListTarget& target, bool dedup, Executor& executor)
      : target_(target),
        dedup_(dedup),
        executor_(&executor),
        narrow_(id_width_bytes(target.neighbour_count) == 4) {}

  std::string path_of(Column column) const {
    return target_.path(column_names[static_cast<std::size_t>(column)]);
  }

  Status open(Column column, DType dtype, std::uint64_t count, bool open_ended) {
    const auto path = target_.dir / path_of(column);
    const auto type = npy_type(dtype);
    TROUPE_ASSIGN_OR_RETURN(auto stream, open_ended ? NpyStream::create_open_ended(path, type)
                                                    : NpyStream::create(path, type, {count}));
    arrays_.push_back({column, std::move(stream)});
    return ok_status();
  }

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
    std::vector<Status> done(arrays_.size(), ok_status());
    executor_->parallel_for(arrays_.size(), [&](std::size_t which) {
      done[which] = write_array(arrays_[which], edges);
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

  Status write_array(Array& array, std::span<const Edge> edges) {
    const auto neighbour = [](const Edge& edge) { return edge.neighbour; };
    switch (array.column) {
      case Column::offsets:
        return write_offsets(edges);
      case Column::neighbours:
        return narrow_ ? write_column<std::uint32_t>(array, edges, neighbour)
                       : write_column<std::uint64_t>(array, edges, neighbour);
      case Column::edge_ids:
        return write_column<std::uint64_t>(array, edges, [this](const Edge& edge) {
          return (edge.id & reversed_bit) == 0
                     ? edge.id
                     : (edge.id ^ reversed_bit) + target_.first_reversed_id;
        });
      case Column::weights:
        return write_data<float>(array, edges, &EdgeData::weight);
      case Column::times:
        break;
    }
    return write_data<std::int64_t>(array, edges, &EdgeData::time);
  }

  template <class T, class Of>
  Status write_column(Array& array, std::span<const Edge> edges, Of of) {
    std::vector<T> values(edges.size());
    std::ranges::transform(edges, values.begin(),
                           [&](const Edge& edge) { return static_cast<T>(of(edge)); });
    return array.stream.template write_elements<T>(values);
  }

  template <class T>
  Status write_data(Array& array, std::span<const Edge> edges, T EdgeData::*member) {
    if constexpr (std::is_same_v<decltype(Edge::data), EdgeData>) {
      return write_column<T>(array, edges, [&](const Edge& edge) { return edge.data.*member; });
    } else {
      return ok_status();  // such edges have no such array
    }
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
        TROUPE_RETURN_IF_ERROR(arrays_[0].stream.template write_elements<std::uint64_t>(offsets_));
        offsets_.clear();
      }
    }
    return ok_status();
  }

  ListTarget target_;
  bool dedup_;
  Executor* executor_;
  bool narrow_;                ///< neighbours take 4 bytes
  std::vector<Array> arrays_;  ///< offsets first
  std::uint64_t edges_ = 0;    ///< written
  std::uint64_t position_ = 0;
  std::uint64_t next_owner_ = 0;  ///< whose offset comes next
  bool any_ = false;
  Edge last_{};
  std::vector<Edge> kept_;
  std::vector<std::uint64_t> offsets_;
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
    const auto count = block.edges.sources.size();
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
    TROUPE_ASSIGN_OR_RETURN(auto writer,
                            ListWriter<Edge>::create(target, options_, sort_.size(), executor_));
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
      const auto source = static_cast<Id>(block.edges.sources[i]);
      const auto destination = static_cast<Id>(block.edges.destinations[i]);
      const bool left_out = !block.roles.empty() && block.roles[i] != 0;
      if (left_out || (options_.drop_self_loops && source == destination)) {
        continue;
      }
      const auto id = block.first_id + i;
      const auto data = data_of(block.edges, i);
      if (!options_.reversed) {
        packed.push_back({destination, source, id, data});
      }
      if (options_.reversed || options_.symmetrize) {
        packed.push_back({source, destination, id | reversed_bit, data});
      }
    }
  }

  static auto data_of(const EdgePiece& edges, std::size_t i) {
    decltype(Edge::data) data{};
    if constexpr (std::is_same_v<decltype(data), EdgeData>) {
      data.weight = edges.weights.empty() ? 0 : edges.weights[i];
      data.time = edges.times.empty() ? 0 : edges.times[i];
    }
    return data;
  }

  EdgeListsOptions options_;
  Executor& executor_;
  ExternalSort<Edge> sort_;
  std::vector<std::vector<Edge>> packed_;  ///< [chunk]
};

template <class Edge>
std::unique_ptr<EdgeLists> make(const EdgeListsOptions& options, Executor& executor) {
  return std::make_unique<SortedEdgeLists<Edge>>(options, executor);
}

}  // namespace

std::unique_ptr<EdgeLists> make_edge_lists(const EdgeListsOptions& options, Executor& executor) {
  const bool data = options.weights || options.times;
  if (options.compact) {
    return data ? make<Edge<std::uint32_t, EdgeData>>(options, executor)
                : make<Edge<std::uint32_t, NoData>>(options, executor);
  }
  return data ? make<Edge<std::uint64_t, EdgeData>>(options, executor)
              : make<Edge<std::uint64_t, NoData>>(options, executor);
}

}  // namespace troupe::stream_store
