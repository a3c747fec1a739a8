#include "runtime/job/problems.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest.hpp"
#include "runtime/job/hidden_values.hpp"
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

/// A value of this row's key, without the values of environments.
Json shown(const SchemaRow& row, const Json& value) {
  const nlohmann::ordered_json::json_pointer at(row.pointer);
  nlohmann::ordered_json job;
  job[at] = value;
  hide_values(job);
  return job[at];
}

/// A sentence of a check, "KEY: expected A, found B", taken apart.
/// \param text  JSON of the value or line that was refused
/// \param rest  problem where the sentence is another one
JobProblem refused_problem(const SchemaRow& row, const std::string& sentence,
                           const std::string& text, JobProblem rest) {
  constexpr std::string_view expected = "expected ";
  constexpr std::string_view found = ", found ";
  const auto begin = sentence.find(expected);
  const auto end = sentence.find(found);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return rest;
  }
  // "KEY: " without the colon.
  const auto key = begin >= 2 ? fmt::format(" ({})", sentence.substr(0, begin - 2)) : "";
  const auto first = begin + expected.size();
  const auto what = sentence.substr(end + found.size());
  return {row.pointer, sentence.substr(first, end - first) + key,
          what == text ? what : fmt::format("{} in {}", what, text), ""};
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
  return {row.pointer, expected_text(row.rule), json_text(shown(row, value)),
          spelling_hint(row.rule, value)};
}

std::optional<JobProblem> bad_line_problem(const SchemaRow& row, const Json& value) {
  if (row.check_line == nullptr) {
    return std::nullopt;
  }
  if (value.is_string()) {
    const auto good = row.check_line(value.get<std::string>());
    if (good) {
      return std::nullopt;
    }
    const auto why = good.error().what();
    return refused_problem(row, why, json_text(value),
                           {row.pointer, "a text as in docs/job-file.md", why, ""});
  }
  for (const auto& line : value.is_array() ? value : Json::array()) {
    if (const auto good = row.check_line(line.get<std::string>()); !good) {
      const auto why = good.error().what();
      const auto text = json_text(shown(row, Json::array({line})).front());
      return refused_problem(
          row, why, text,
          {row.pointer, "lines as in docs/deployment.md", fmt::format("{}: {}", text, why), ""});
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
