#include "runtime/data/named_rows.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/data/text_lines.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace troupe {
namespace {

struct NumberedLines {
  std::vector<std::uint64_t> numbers;
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;
};

/// Returns a name without the spaces around it.
std::string_view without_spaces(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  return name.substr(0, name.find_last_not_of(' ') + 1);
}

/// Each list of names once, whatever the columns.
class ColumnNumbers {
 public:
  explicit ColumnNumbers(std::span<const NameColumn> columns) : columns_(columns) {
    for (const auto& column : columns) {
      if (column.names != nullptr && !tables_.contains(column.names)) {
        tables_.emplace(column.names, numbers_of(*column.names));
      }
    }
  }
  /// \returns whether there is such a one
  bool find(std::size_t column, std::string_view name, std::uint64_t& number) const {
    const auto& of = columns_[column];
    if (of.names == nullptr) {
      const auto* const end = name.data() + name.size();
      const auto [behind, error] = std::from_chars(name.data(), end, number);
      return error == std::errc() && behind == end && number < of.count;
    }
    const auto& table = tables_.at(of.names);
    const auto found = table.find(name);
    number = found == table.end() ? 0 : found->second;
    return found != table.end();
  }

 private:
  std::span<const NameColumn> columns_;
  std::map<const NameLines*, NumbersOfNames> tables_;
};

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

Result<std::vector<std::uint64_t>> numbers_of_lines(const std::filesystem::path& file,
                                                    const NumberLine& number) {
  const auto number_lines = [&](std::string_view text, NumberedLines& out) {
    out.numbers.clear();
    text_lines::for_each_data_line(
        text, out, [&](std::string_view line) { return number(line, out.numbers); },
        text_lines::is_empty);
  };
  std::vector<std::uint64_t> all;
  const auto take = [&](const NumberedLines& lines) {
    all.insert(all.end(), lines.numbers.begin(), lines.numbers.end());
    return ok_status();
  };
  InlineExecutor executor;
  TROUPE_RETURN_IF_ERROR(text_lines::parse_file<NumberedLines>(
      file, executor, {nullptr, number_lines, take, "\ntry: numbers, without --names"}));
  return all;
}

Result<std::vector<std::uint64_t>> read_named_rows(const std::filesystem::path& file,
                                                   std::span<const NameColumn> columns) {
  const ColumnNumbers numbers(columns);
  const auto number_row = [&](std::string_view line,
                              std::vector<std::uint64_t>& out) -> std::string {
    std::vector<std::string_view> names(columns.size());
    const auto count = cut_names(line, names);
    if (count != columns.size()) {
      return fmt::format("expected {} names, got {}", columns.size(), count);
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::uint64_t number = 0;
      if (!numbers.find(c, names[c], number)) {
        return fmt::format("expected {}, found \"{}\"", columns[c].what, names[c].substr(0, 80));
      }
      out.push_back(number);
    }
    return {};
  };
  TROUPE_ASSIGN_OR_RETURN(auto all, numbers_of_lines(file, number_row));
  if (all.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a row of names, found none", file.string()));
  }
  return all;
}

}  // namespace troupe
