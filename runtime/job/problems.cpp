#include "runtime/job/problems.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest.hpp"
#include "runtime/job/overrides.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using Json = nlohmann::json;

std::string spelling_hint(const ValueRule& rule, const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (rule.type != ValueType::choice || text == nullptr) {
    return "";
  }
  const Nearest best = nearest(*text, rule.words);
  return best.close ? fmt::format("did you mean \"{}\"?", best.word) : "";
}

}  // namespace

std::string json_text(const Json& value) {
  constexpr std::size_t longest = 60;
  std::string text = text_of_json(value);
  if (text.size() > longest) {
    std::size_t cut = longest;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) {
      --cut;  // not inside a UTF-8 sequence
    }
    text = text.substr(0, cut) + "…";
  }
  return text;
}

std::string unknown_key_hint(const std::string& section, const std::string& key) {
  if (section == "/sample" && key == "edge_ids") {
    return "it is \"edge_data\": [\"ids\"] now";
  }
  const Nearest sibling = nearest(key, keys_of_section(section));
  if (sibling.close) {
    return fmt::format("did you mean \"{}\"?", sibling.word);
  }
  std::vector<std::string> names;
  for (const SchemaRow& row : job_schema()) {
    names.push_back(row.pointer.substr(row.pointer.rfind('/') + 1));
  }
  const Nearest elsewhere = nearest(key, names);
  if (elsewhere.distance <= 1 && elsewhere.close) {
    const auto at = std::find(names.begin(), names.end(), elsewhere.word) - names.begin();
    return fmt::format("did you mean {}?", job_schema()[static_cast<std::size_t>(at)].pointer);
  }
  return fmt::format("the nearest key here is \"{}\"", sibling.word);
}

JobProblem bad_value_problem(const SchemaRow& row, const Json& value) {
  return {row.pointer, expected_text(row.rule), json_text(value), spelling_hint(row.rule, value)};
}

std::optional<JobProblem> bad_line_problem(const SchemaRow& row, const Json& value) {
  if (row.check_line == nullptr) {
    return std::nullopt;
  }
  if (value.is_string()) {
    const auto good = row.check_line(value.get<std::string>());
    return good ? std::nullopt
                : std::optional(JobProblem{row.pointer, "a text as in docs/job-file.md",
                                           good.error().what(), ""});
  }
  for (const auto& line : value.is_array() ? value : Json::array()) {
    if (const auto good = row.check_line(line.get<std::string>()); !good) {
      return JobProblem{row.pointer, "lines as in docs/deployment.md",
                        fmt::format("{}: {}", json_text(line), good.error().what()), ""};
    }
  }
  return std::nullopt;
}

JobProblem not_built_problem(const SchemaRow& row, const Json& value) {
  return {row.pointer, row.not_built.instead, json_text(value) + ", which is not built yet", ""};
}

JobProblem missing_key_problem(const SchemaRow& row) {
  return {row.pointer, expected_text(row.rule), "nothing", "this key is required"};
}

void ProblemList::add(JobProblem problem) {
  problems_.push_back(std::move(problem));
}

bool ProblemList::has(const std::string& pointer) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const JobProblem& problem) {
    return problem.pointer == pointer || pointer.starts_with(problem.pointer + "/");
  });
}

std::vector<JobProblem> ProblemList::take() && {
  std::vector<std::pair<std::size_t, JobProblem>> keyed;
  for (JobProblem& problem : problems_) {
    const std::size_t position = problem.pointer.empty() ? 0 : schema_position(problem.pointer);
    keyed.emplace_back(position, std::move(problem));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<JobProblem> sorted;
  for (auto& [position, problem] : keyed) {
    sorted.push_back(std::move(problem));
  }
  return sorted;
}

void add_places(const std::string& text, std::span<const std::string> overrides,
                std::vector<JobProblem>& problems) {
  const auto places = json_places(text);
  for (auto& problem : problems) {
    const auto found = places.find(problem.pointer);
    const bool overridden = std::ranges::any_of(overrides, [&](const std::string& entry) {
      return (problem.pointer + "/").starts_with(override_pointer(entry) + "/");
    });
    if (found != places.end() && !overridden) {
      problem.place = problem.about_key ? found->second.key : found->second.value;
    }
  }
}

std::string to_string(std::span<const JobProblem> problems) {
  std::string out;
  for (const JobProblem& problem : problems) {
    const std::string where = problem.pointer.empty() ? "the job" : problem.pointer;
    if (problem.place.line > 0) {
      out += fmt::format("line {}, column {}: ", problem.place.line, problem.place.column);
    }
    out += fmt::format("{}: expected {}, found {}{}{}\n", where, problem.expected, problem.found,
                       problem.hint.empty() ? "" : "; ", problem.hint);
  }
  return out;
}

}  // namespace troupe
