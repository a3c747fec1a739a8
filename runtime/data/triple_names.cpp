#include "runtime/data/triple_names.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/data/text_lines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace troupe {
namespace {

constexpr const char* names_file = "names.txt";
constexpr const char* relations_file = "relations.txt";

/// Numbers in the order of their names.
struct NumberedRows {
  std::vector<std::uint64_t> numbers;
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;
};

/// Returns a name without the spaces around it.
std::string_view without_spaces(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

}  // namespace

std::size_t cut_names(std::string_view line, std::span<std::string_view> fields) {
  const bool tabs = line.find('\t') != std::string_view::npos;
  const char mark = tabs ? '\t' : ' ';
  std::size_t count = 0;
  for (std::size_t at = 0; at <= line.size();) {
    const auto end = std::min(line.find(mark, at), line.size());
    if (tabs || end > at) {
      if (count < fields.size()) {
        fields[count] = without_spaces(line.substr(at, end - at));
      }
      ++count;
    }
    at = end + 1;
  }
  return count;
}

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
  const auto entities = numbers_of(entities_);
  const auto relations = numbers_of(relations_);
  const auto number_row = [&](std::string_view line, NumberedRows& out) -> std::string {
    std::vector<std::string_view> names(columns.size());
    const auto count = cut_names(line, names);
    if (count != columns.size()) {
      return fmt::format("expected {} names, got {}", columns.size(), count);
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool entity = columns[c] == NamedThing::entity;
      const auto& numbers = entity ? entities : relations;
      const auto found = numbers.find(names[c]);
      if (found == numbers.end()) {
        return fmt::format("expected {} of the graph, found \"{}\"",
                           entity ? "an entity" : "a relation", names[c].substr(0, 80));
      }
      out.numbers.push_back(found->second);
    }
    return {};
  };
  const auto number_rows = [&](std::string_view text, NumberedRows& out) {
    out.numbers.clear();
    text_lines::for_each_data_line(
        text, out, [&](std::string_view line) { return number_row(line, out); },
        text_lines::is_empty);
  };
  std::vector<std::uint64_t> all;
  const auto take = [&](const NumberedRows& rows) {
    all.insert(all.end(), rows.numbers.begin(), rows.numbers.end());
    return ok_status();
  };
  InlineExecutor executor;
  TROUPE_RETURN_IF_ERROR(text_lines::parse_file<NumberedRows>(
      file, executor, {nullptr, number_rows, take, "\ntry: numbers, without --names"}));
  if (all.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a row of names, found none", file.string()));
  }
  return all;
}

}  // namespace troupe
