#pragma once
/// \file table_options.hpp
/// Command-line options from the tables of kinds (runtime/base/kinds.hpp); only for the files that
/// define commands.
#include "runtime/base/kinds.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

namespace troupe {

/// "--batch-size" for "batch_size".
inline std::string option_flag(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// What an option's values must be, as the command line checks it. Lists and texts are checked by
/// the code that reads them, with the values that fit.
inline void check_by_rule(CLI::Option& option, const ValueRule& rule) {
  switch (rule.type) {
    case ValueType::integer:
      if (rule.low == 0 && rule.high == ~std::uint64_t{0}) {
        break;  // as the type
      }
      option.check(CLI::Range(static_cast<std::uint64_t>(rule.low), rule.high));
      break;
    case ValueType::number:
      option.check(CLI::Range(rule.numbers.low, rule.numbers.high));
      break;
    case ValueType::choice:
      option.check(CLI::IsMember(rule.words));
      break;
    default:
      break;
  }
}

/// Adds the option of a row to a command.
/// \param readers  names of the kinds that read it
/// \requires `options` outlives the parsing
template <class Options>
void add_table_option(CLI::App& command, const OptionRow<Options>& row, Options& options,
                      const std::string& readers) {
  const auto flag = option_flag(row.name);
  const auto help = fmt::format("{}: {}", readers, row.help);
  std::visit(
      [&](auto field) {
        if constexpr (std::is_same_v<decltype(field), bool Options::*>) {
          command.add_flag(flag, options.*field, help);
        } else if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
          using Value = std::remove_reference_t<decltype(options.*field)>;
          auto* option = command.add_option(flag, options.*field, help);
          check_by_rule(*option, row.rule);
          if constexpr (std::is_same_v<Value, std::vector<std::string>> ||
                        std::is_same_v<Value, std::vector<std::uint32_t>>) {
            option->delimiter(',');
            if (row.rule.type == ValueType::text_list) {
              option->allow_extra_args(false);  // any word may be one, also the next argument
            }
            if (row.rule.min_items == 2 && row.rule.max_items == 2) {
              option->expected(2)->type_name("A,B");
            }
          } else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
            option->capture_default_str();
          }
        }
      },
      row.field);
}

/// The kinds of a table with a line for each, for the end of a command's help.
template <class Rows>
std::string kinds_text(std::string_view title, const Rows& kinds) {
  std::string text(title);
  for (const auto& kind : kinds) {
    text += fmt::format("\n  {:<12}{}", kind.name, kind.help);
  }
  return text;
}

}  // namespace troupe
