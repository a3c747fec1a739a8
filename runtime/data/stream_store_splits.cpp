// Seeds and links of a StoreWriter.
#include "runtime/base/external_sort.hpp"
#include "runtime/data/stream_store_state.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace troupe {

using namespace stream_store;

namespace {

constexpr std::size_t block_links = std::size_t{1} << 15;

Error wrong_split(std::string what) {
  return Error(Errc::invalid_argument, std::move(what));
}

std::string text_of(std::string_view what, const RoleName& name) {
  return fmt::format("{} of split \"{}\", role {}", what, name.first, name.second);
}

Status check_role_name(const std::string& what, const RoleName& name) {
  const bool role = name.second == "train" || name.second == "val" || name.second == "test";
  const bool split =
      name.first.empty() || (store_layout::is_valid_name(name.first) && name.first != "default");
  if (!role || !split) {
    return wrong_split(
        fmt::format("{}: expected a role of train, val or test and a split \"\" or a "
                    "name of a-z A-Z 0-9 _ - . other than \"default\"",
                    what));
  }
  return ok_status();
}

Status check_seed_ids(const std::string& what, const WrittenSeeds& seeds,
                      const NodeTypeInfo& type) {
  const auto bad =
      std::ranges::find_if(seeds.ids, [&](std::uint64_t id) { return id >= type.count; });
  if (bad != seeds.ids.end()) {
    return wrong_split(fmt::format("{}: row {}: expected a node of type {} below {}, got {}", what,
                                   bad - seeds.ids.begin(), type.name, type.count, *bad));
  }
  return ok_status();
}

/// Sorts ids; each time stays with its seed, equal seeds in the order given.
void sort_with_times(std::vector<std::uint64_t>& ids, std::vector<std::int64_t>& times) {
  std::vector<std::uint64_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::uint64_t at) { return ids[at]; });
  std::vector<std::uint64_t> sorted_ids;
  std::vector<std::int64_t> sorted_times;
  for (const auto at : order) {
    sorted_ids.push_back(ids[at]);
    sorted_times.push_back(times[at]);
  }
  ids = std::move(sorted_ids);
  times = std::move(sorted_times);
}

/// The arrays of one role's links, written from records in order.
class LinkWriter {
 public:
  static Result<LinkWriter> create(const std::filesystem::path& dir, const RoleName& name,
                                   const NewLinks& info, std::uint64_t count) {
    LinkWriter writer(name);
    TROUPE_RETURN_IF_ERROR(writer.open(writer.ends_, dir, DType::u64, {count, 2}));
    if (info.times) {
      TROUPE_RETURN_IF_ERROR(writer.open(writer.times_, dir, DType::i64, {count}));
    }
    if (info.labels) {
      TROUPE_RETURN_IF_ERROR(writer.open(writer.labels_, dir, DType::f32, {count}));
    }
    return writer;
  }

  Status take(std::span<const LinkRecord> records) {
    for (std::size_t first = 0; first < records.size(); first += block_links) {
      TROUPE_RETURN_IF_ERROR(
          write(records.subspan(first, std::min(block_links, records.size() - first))));
    }
    return ok_status();
  }

  Status close(std::vector<FileInfo>& files) {
    for (auto* array : {&ends_, &times_, &labels_}) {
      if (array->stream) {
        TROUPE_RETURN_IF_ERROR(array->stream->close());
        files.push_back(array->stream->info(path_of(*array)));
      }
    }
    return ok_status();
  }

 private:
  struct Array {
    std::string_view what;
    std::optional<NpyStream> stream{};
  };

  explicit LinkWriter(RoleName name) : name_(std::move(name)) {}

  std::string path_of(const Array& array) const {
    return store_layout::split_file(name_.first, name_.second, array.what);
  }

  Status open(Array& array, const std::filesystem::path& dir, DType dtype,
              std::vector<std::uint64_t> shape) const {
    TROUPE_ASSIGN_OR_RETURN(
        array.stream, NpyStream::create(dir / path_of(array), npy_type(dtype), std::move(shape)));
    return ok_status();
  }

  template <class T, class ValueOf>
  static Status write_column(Array& array, std::span<const LinkRecord> records,
                             const ValueOf& value_of) {
    if (!array.stream) {
      return ok_status();
    }
    std::vector<T> values(records.size());
    std::ranges::transform(records, values.begin(), value_of);
    return array.stream->template write_elements<T>(values);
  }

  Status write(std::span<const LinkRecord> records) {
    std::vector<std::uint64_t> ends;
    ends.reserve(2 * records.size());
    for (const auto& record : records) {
      ends.push_back(record.source);
      ends.push_back(record.destination);
    }
    TROUPE_RETURN_IF_ERROR(ends_.stream->write_elements<std::uint64_t>(ends));
    TROUPE_RETURN_IF_ERROR(write_column<std::int64_t>(
        times_, records, [](const LinkRecord& record) { return record.time; }));
    return write_column<float>(labels_, records,
                               [](const LinkRecord& record) { return record.label; });
  }

  RoleName name_;
  Array ends_{"links"};
  Array times_{"links.times"};
  Array labels_{"links.labels"};
};

}  // namespace

Status StoreWriter::State::set_seeds(const RoleName& name, WrittenSeeds&& seeds) {
  const auto what = text_of("seeds", name);
  TROUPE_RETURN_IF_ERROR(check_role_name(what, name));
  if (raw(seeds.type) >= nodes_.size()) {
    return wrong_split(fmt::format("{}: expected a node type below {}, got {}", what, nodes_.size(),
                                   raw(seeds.type)));
  }
  if (seeds.times && seeds.times->size() != seeds.ids.size()) {
    return wrong_split(fmt::format("{}: expected {} times, one per seed, got {}", what,
                                   seeds.ids.size(), seeds.times->size()));
  }
  if (nodes_[raw(seeds.type)].counted) {
    TROUPE_RETURN_IF_ERROR(check_seed_ids(what, seeds, nodes_[raw(seeds.type)].info));
  }
  if (!seeds_.try_emplace(name, std::move(seeds)).second) {
    return wrong_split(fmt::format("{}: expected them once, got them twice", what));
  }
  return ok_status();
}

Status StoreWriter::State::finish_seeds() {
  for (auto& [name, seeds] : seeds_) {
    TROUPE_RETURN_IF_ERROR(
        check_seed_ids(text_of("seeds", name), seeds, nodes_[raw(seeds.type)].info));
    if (seeds.times) {
      sort_with_times(seeds.ids, *seeds.times);
    } else {
      std::ranges::sort(seeds.ids);
    }
    const auto path = store_layout::seeds_file(name.first, name.second);
    TROUPE_RETURN_IF_ERROR(make_folder_of(path));
    TROUPE_ASSIGN_OR_RETURN(
        auto stream,
        NpyStream::create(staged_.path() / path, npy_type(DType::u64), {seeds.ids.size()}));
    TROUPE_RETURN_IF_ERROR(stream.write_elements<std::uint64_t>(seeds.ids));
    TROUPE_RETURN_IF_ERROR(stream.close());
    info_.files.push_back(stream.info(path));
    if (seeds.times) {
      TROUPE_RETURN_IF_ERROR(write_seed_times(name, *seeds.times));
    }
    auto& split = splits_[name.first];
    split.name = name.first;
    split.roles[name.second] = {seeds.type, seeds.ids.size(), seeds.times.has_value()};
  }
  return ok_status();
}

Status StoreWriter::State::write_seed_times(const RoleName& name,
                                            std::span<const std::int64_t> times) {
  const auto path = store_layout::split_file(name.first, name.second, "times");
  TROUPE_ASSIGN_OR_RETURN(
      auto stream, NpyStream::create(staged_.path() / path, npy_type(DType::i64), {times.size()}));
  TROUPE_RETURN_IF_ERROR(stream.write_elements<std::int64_t>(times));
  TROUPE_RETURN_IF_ERROR(stream.close());
  info_.files.push_back(stream.info(path));
  return ok_status();
}

Status StoreWriter::State::open_links(const RoleName& name, const NewLinks& links) {
  const auto what = text_of("links", name);
  TROUPE_RETURN_IF_ERROR(check_role_name(what, name));
  if (raw(links.type) >= edges_.size()) {
    return wrong_split(fmt::format("{}: expected an edge type below {}, got {}", what,
                                   edges_.size(), raw(links.type)));
  }
  const bool listed = links.types.empty() ||
                      (links.types.size() == links.relations && links.types.front() == links.type);
  if (!listed || links.relations > store_layout::most_relations ||
      (links.relations != 0 && !links.labels)) {
    return wrong_split(fmt::format(
        "{}: expected at most {} relations as labels, of as many edge types or of one, got {} of "
        "{}{}",
        what, store_layout::most_relations, links.relations,
        std::max<std::size_t>(1, links.types.size()), links.labels ? "" : " without labels"));
  }
  const auto there = [&](EdgeTypeId type) { return raw(type) < edges_.size(); };
  if (!std::ranges::all_of(links.types, there)) {
    return wrong_split(
        fmt::format("{}: expected edge types below {}, got others", what, edges_.size()));
  }
  if (links_.contains(name)) {
    return wrong_split(fmt::format(
        "{}: expected them once, got them twice{}", what,
        !edge_roles_.empty() ? "\ntry: no edge split, as the data has links of its own" : ""));
  }
  TROUPE_ASSIGN_OR_RETURN(auto records, ScratchFile::create(staged_.path()));
  links_.emplace(name, WrittenLinks{links, std::move(records)});
  return ok_status();
}

Status StoreWriter::State::add_links(const RoleName& name, const LinkPiece& piece) {
  const auto what = text_of("links", name);
  const auto found = links_.find(name);
  if (found == links_.end()) {
    return wrong_split(fmt::format("{}: expected open_links before them, got them first", what));
  }
  auto& links = found->second;
  const auto count = piece.sources.size();
  const auto times = links.info.times ? count : 0;
  const auto labels = links.info.labels ? count : 0;
  if (piece.destinations.size() != count || piece.times.size() != times ||
      piece.labels.size() != labels) {
    return wrong_split(fmt::format(
        "{}: expected {} destinations, {} times and {} labels for {} sources, got {}, {} and {}",
        what, count, times, labels, count, piece.destinations.size(), piece.times.size(),
        piece.labels.size()));
  }
  const auto relations = links.info.relations;
  const auto bad = std::ranges::find_if(piece.labels, [relations](float label) {
    return !std::isfinite(label) ||
           (relations != 0 &&
            (label < 0 || label >= static_cast<float>(relations) || label != std::trunc(label)));
  });
  if (bad != piece.labels.end()) {
    const auto row = links.count() + static_cast<std::uint64_t>(bad - piece.labels.begin());
    return wrong_split(fmt::format(
        "{}: row {}: expected {}, got {}", what, row,
        relations == 0 ? "a finite label" : fmt::format("a relation below {}", relations), *bad));
  }
  std::vector<LinkRecord> records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back({piece.sources[i], piece.destinations[i], times == 0 ? 0 : piece.times[i],
                       labels == 0 ? 0 : piece.labels[i]});
    if (records.size() == block_links || i + 1 == count) {
      TROUPE_RETURN_IF_ERROR(links.records.append(std::as_bytes(std::span(records))));
      records.clear();
    }
  }
  return ok_status();
}

/// Checks the ends of all links and hands these out in order.
Status StoreWriter::State::sort_links(
    const RoleName& name, const WrittenLinks& links,
    const std::function<Status(std::span<const LinkRecord>)>& take) {
  const auto& types = links.info.types;
  ExternalSort<LinkRecord> sort({staged_.path(), options_.memory_bytes}, executor_);
  for (std::uint64_t done = 0; done < links.count();) {
    TROUPE_ASSIGN_OR_RETURN(const auto room,
                            sort.next(std::min<std::uint64_t>(block_links, links.count() - done)));
    TROUPE_RETURN_IF_ERROR(
        links.records.read(done * sizeof(LinkRecord), std::as_writable_bytes(room)));
    for (std::size_t i = 0; i < room.size(); ++i) {
      const auto of_link =
          types.empty() ? links.info.type : types[static_cast<std::size_t>(room[i].label)];
      const auto& source = nodes_[raw(edges_[raw(of_link)].info.source)].info;
      const auto& destination = nodes_[raw(edges_[raw(of_link)].info.destination)].info;
      const bool wrong_source = room[i].source >= source.count;
      if (wrong_source || room[i].destination >= destination.count) {
        const auto& nodes = wrong_source ? source : destination;
        return wrong_split(fmt::format(
            "{}: row {}: expected a {} of type {} below {}, got {}", text_of("links", name),
            done + i, wrong_source ? "source" : "destination", nodes.name, nodes.count,
            wrong_source ? room[i].source : room[i].destination));
      }
    }
    done += room.size();
    report("sorting links", done, links.count(), "links");
  }
  return sort.finish(take);
}

Status StoreWriter::State::drop_equal_links(const RoleName& name, WrittenLinks& links) {
  TROUPE_ASSIGN_OR_RETURN(auto kept, ScratchFile::create(staged_.path()));
  std::vector<LinkRecord> last;  // of the ends of the last one, those of different relations
  std::vector<LinkRecord> block;
  TROUPE_RETURN_IF_ERROR(sort_links(name, links, [&](std::span<const LinkRecord> records) {
    block.clear();
    for (const auto& record : records) {
      if (!last.empty() && last.front().key() != record.key()) {
        last.clear();
      }
      const auto of_link = links.info.types.empty()
                               ? links.info.type
                               : links.info.types[static_cast<std::size_t>(record.label)];
      const bool keeps = !edges_[raw(of_link)].transforms.dedup;
      if (keeps || std::ranges::find(last, record.label, &LinkRecord::label) == last.end()) {
        last.push_back(record);
        block.push_back(record);
      }
    }
    return kept.append(std::as_bytes(std::span(block)));
  }));
  links.records = std::move(kept);
  return ok_status();
}

Status StoreWriter::State::finish_links() {
  for (auto& [name, links] : links_) {
    if (links.distinct) {
      TROUPE_RETURN_IF_ERROR(drop_equal_links(name, links));
    }
    const auto path = store_layout::split_file(name.first, name.second, "links");
    TROUPE_RETURN_IF_ERROR(make_folder_of(path));
    TROUPE_RETURN_IF_ERROR(check_space(path, links.records.size()));
    TROUPE_ASSIGN_OR_RETURN(auto writer,
                            LinkWriter::create(staged_.path(), name, links.info, links.count()));
    TROUPE_RETURN_IF_ERROR(sort_links(
        name, links, [&](std::span<const LinkRecord> records) { return writer.take(records); }));
    TROUPE_RETURN_IF_ERROR(writer.close(info_.files));
    auto& split = splits_[name.first];
    split.name = name.first;
    split.links[name.second] = {links.info.type,   links.count(),        links.info.times,
                                links.info.labels, links.info.relations, links.info.types};
  }
  return ok_status();
}

}  // namespace troupe
