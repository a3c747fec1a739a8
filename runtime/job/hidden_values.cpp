#include "runtime/job/hidden_values.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace troupe {
namespace {

/// NAME=*** of NAME=VALUE.
std::string hide(const std::string& entry) {
  const auto at = entry.find('=');
  return at == std::string::npos ? entry : entry.substr(0, at + 1) + hidden_value;
}

/// A host's line: words between white space, of which some are env=NAME=VALUE.
std::string hide_in_line(const std::string& line) {
  constexpr std::string_view white_space = " \t";
  constexpr std::string_view mark = "env=";
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const auto begin = std::min(line.find_first_not_of(white_space, at), line.size());
    const auto end = std::min(line.find_first_of(white_space, begin), line.size());
    const auto word = line.substr(begin, end - begin);
    out += line.substr(at, begin - at);
    out += word.starts_with(mark) ? std::string(mark) + hide(word.substr(mark.size())) : word;
    at = end;
  }
  return out;
}

/// Strings of a list that may be missing.
template <class Change>
void change_each(nlohmann::ordered_json& list, Change change) {
  if (list.is_array()) {
    for (auto& entry : list) {
      if (entry.is_string()) {
        entry = change(entry.get<std::string>());
      }
    }
  }
}

}  // namespace

void hide_values(nlohmann::ordered_json& job) {
  const auto cluster = job.find("cluster");
  if (cluster == job.end() || !cluster->is_object()) {
    return;
  }
  if (const auto hosts = cluster->find("hosts"); hosts != cluster->end()) {
    change_each(*hosts, hide_in_line);
  }
  if (const auto ssh = cluster->find("ssh"); ssh != cluster->end() && ssh->is_object()) {
    if (const auto env = ssh->find("env"); env != ssh->end()) {
      change_each(*env, hide);
    }
  }
}

std::string hide_in_word(const std::string& word) {
  constexpr std::string_view option = "--set=";
  const std::size_t begin = word.starts_with(option) ? option.size() : 0;
  const auto end = word.find('=', begin);
  if (end == std::string::npos) {
    return word;
  }
  const auto key = word.substr(begin, end - begin);
  const bool hides = key == "cluster.ssh.env" ||
                     ((key == "cluster" || key == "cluster.ssh" || key == "cluster.hosts") &&
                      word.find("env", end) != std::string::npos);
  return hides ? word.substr(0, end + 1) + hidden_value : word;
}

}  // namespace troupe
