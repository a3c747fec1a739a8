#include "launcher/processes/tool_output.hpp"

#include "launcher/processes/child_processes.hpp"

#include <fmt/format.h>
#include <future>
#include <optional>

namespace troupe {

Result<std::string> tool_output(const std::vector<std::string>& words) {
  std::string out;
  std::string err;
  std::promise<std::optional<std::string>> ended;  // how, where not well
  auto how = ended.get_future();
  ChildProcesses children(
      {.line = [&](const std::string& line, bool error) { (error ? err : out) += line + "\n"; },
       .exited =
           [&](std::uint64_t, const std::string& text, int code) {
             ended.set_value(code == 0 ? std::nullopt : std::optional(text));
           }});
  ChildCommand command;
  command.arguments = words;
  TROUPE_RETURN_IF_ERROR(children.start(1, std::move(command)));
  if (const auto problem = how.get()) {
    while (!err.empty() && err.back() == '\n') {
      err.pop_back();
    }
    return Error(Errc::failed_precondition,
                 fmt::format("{}: {}{}{}", words[0], *problem, err.empty() ? "" : ": ", err));
  }
  return out;
}

}  // namespace troupe
