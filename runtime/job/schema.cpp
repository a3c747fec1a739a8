#include "runtime/job/schema.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/schema_rows.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {
namespace {

std::vector<SchemaRow> all_rows() {
  std::vector<SchemaRow> rows = place_rows();
  for (SchemaRow& row : learning_rows()) {
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> all_sections() {
  std::vector<std::string> sections;
  for (const SchemaRow& row : job_schema()) {
    for (auto at = row.pointer.find('/', 1); at != std::string::npos;
         at = row.pointer.find('/', at + 1)) {
      const std::string section = row.pointer.substr(0, at);
      if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
        sections.push_back(section);
      }
    }
  }
  return sections;
}

}  // namespace

const std::vector<SchemaRow>& job_schema() {
  static const std::vector<SchemaRow> rows = all_rows();
  return rows;
}

const std::vector<std::string>& job_sections() {
  static const std::vector<std::string> sections = all_sections();
  return sections;
}

std::vector<std::string> keys_of_section(const std::string& section) {
  std::vector<std::string> keys;
  for (const SchemaRow& row : job_schema()) {
    if (!row.pointer.starts_with(section + "/")) {
      continue;
    }
    const auto begin = section.size() + 1;
    const auto end = row.pointer.find('/', begin);
    std::string key = row.pointer.substr(begin, end == std::string::npos ? end : end - begin);
    if (keys.empty() || keys.back() != key) {
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

std::string schema_pointer(const std::string& pointer) {
  std::string of_rows;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const auto end = std::min(pointer.find('/', begin), pointer.size());
    const bool any = keys_of_section(of_rows) == std::vector<std::string>{"*"};
    of_rows += any ? "/*" : pointer.substr(begin - 1, end - begin + 1);
    begin = end + 1;
  }
  return of_rows;
}

std::size_t schema_position(const std::string& named) {
  const auto pointer = schema_pointer(named);
  const auto& rows = job_schema();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].pointer == pointer || rows[i].pointer.starts_with(pointer + "/") ||
        pointer.starts_with(rows[i].pointer + "/")) {
      return i;
    }
  }
  const std::string section = pointer.substr(0, pointer.empty() ? 0 : pointer.rfind('/'));
  std::size_t after = rows.size();
  for (std::size_t i = 0; i < rows.size() && !section.empty(); ++i) {
    after = rows[i].pointer.starts_with(section + "/") ? i + 1 : after;
  }
  return after;
}

bool is_not_built(const SchemaRow& row, const nlohmann::json& value) {
  const auto& words = row.not_built.words;
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return value == word; });
}

std::vector<JobKey> job_keys() {
  std::vector<JobKey> keys;
  for (const SchemaRow& row : job_schema()) {
    keys.push_back(
        {row.pointer, type_text(row.rule), row.fallback.text, range_text(row.rule), row.meaning});
  }
  return keys;
}

}  // namespace troupe
