#include "runtime/data/triple_names.hpp"

#include "runtime/data/named_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace troupe {
namespace {

constexpr const char* names_file = "names.txt";
constexpr const char* relations_file = "relations.txt";

}  // namespace

std::vector<FileInfo> names_files(const GraphInfo& graph) {
  std::vector<FileInfo> found;
  std::ranges::copy_if(graph.files, std::back_inserter(found), [](const FileInfo& file) {
    return file.path == relations_file || file.path.ends_with("/" + std::string(names_file));
  });
  return found;
}

Status TripleNames::read_list(const std::filesystem::path& file, std::uint64_t count,
                              NameLines& names) {
  auto done = read_name_lines(file, count, names);
  if (!done && done.error().code() == Errc::not_found) {
    return Error(done.error())
        .with("names of a knowledge graph, which `troupe import --from triples` keeps");
  }
  return done;
}

Result<std::unique_ptr<const TripleNames>> TripleNames::read(const std::filesystem::path& store,
                                                             const NodeTypeInfo& type,
                                                             std::uint64_t relations) {
  std::unique_ptr<TripleNames> names(new TripleNames);
  TROUPE_RETURN_IF_ERROR(
      read_list(store / ("nodes-" + type.name) / names_file, type.count, names->entities_));
  TROUPE_RETURN_IF_ERROR(read_list(store / relations_file, relations, names->relations_));
  return std::unique_ptr<const TripleNames>(std::move(names));
}

Result<std::vector<std::uint64_t>> TripleNames::numbers_in(
    const std::filesystem::path& file, std::span<const NamedThing> columns) const {
  std::vector<NameColumn> named;
  for (const auto column : columns) {
    const bool entity = column == NamedThing::entity;
    named.push_back({entity ? &entities_ : &relations_,
                     entity ? "an entity of the graph" : "a relation of the graph"});
  }
  return read_named_rows(file, named);
}

}  // namespace troupe
