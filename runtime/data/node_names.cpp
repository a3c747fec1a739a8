#include "runtime/data/node_names.hpp"

#include "runtime/base/files.hpp"
#include "runtime/data/named_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace troupe {

NumbersOfNames numbers_of(const NameLines& names) {
  NumbersOfNames numbers;
  for (const auto name : names.lines) {
    numbers.emplace(name, numbers.size());
  }
  return numbers;
}

Status read_name_lines(const std::filesystem::path& file, std::uint64_t count, NameLines& names) {
  TROUPE_ASSIGN_OR_RETURN(names.text,
                          read_text_file(file, std::numeric_limits<std::uint64_t>::max()));
  // Not by text_lines::take_line(), which takes the spaces off that a name may begin or end with.
  for (std::string_view rest = names.text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    names.lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (names.lines.size() != count) {
    return Error(Errc::data_corruption, fmt::format("{}: expected {} names, found {}",
                                                    file.string(), count, names.lines.size()));
  }
  return ok_status();
}

Result<std::unique_ptr<const NodeNames>> NodeNames::read(const std::filesystem::path& store,
                                                         const NodeTypeInfo& type) {
  const auto file = store / ("nodes-" + type.name) / "names.txt";
  if (!has_name(file)) {
    return std::unique_ptr<const NodeNames>();
  }
  std::unique_ptr<NodeNames> names(new NodeNames(type.name));
  TROUPE_RETURN_IF_ERROR(read_name_lines(file, type.count, names->names_));
  return std::unique_ptr<const NodeNames>(std::move(names));
}

Result<std::vector<std::uint64_t>> NodeNames::numbers_in(const std::filesystem::path& file) const {
  const auto numbers = numbers_of(names_);
  return numbers_of_lines(
      file, [&](std::string_view line, std::vector<std::uint64_t>& out) -> std::string {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        const auto found = numbers.find(line);
        if (found == numbers.end()) {
          return fmt::format("expected the name of a \"{}\" node", type_);
        }
        out.push_back(found->second);
        return {};
      });
}

}  // namespace troupe
