#pragma once
/// \file hidden_values.hpp
/// What of a job is nobody's business: values of environment variables, which may be keys and passwords.
#include <nlohmann/json.hpp>

#include <string>

namespace troupe {

/// In place of a value.
inline constexpr const char* hidden_value = "***";

/// Puts `hidden_value` in the place of the values in `cluster.ssh.env` and in `env=` of `cluster.hosts`.
/// \param job  a complete job, for people, reports and checkpoints
void hide_values(nlohmann::ordered_json& job);
/// A word of a command line: an override, KEY=VALUE or --set=KEY=VALUE, whose value may hold such values gets
/// `hidden_value` in place of it; any other word stays.
std::string hide_in_word(const std::string& word);

}  // namespace troupe
