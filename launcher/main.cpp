// The program `troupe`.
#include "launcher/command_line.hpp"
#include "launcher/commands.hpp"
#include "launcher/standard_streams.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  troupe::open_standard_streams();
  troupe::block_stop_signals();
  try {
    const auto code = static_cast<troupe::ExitCode>(troupe::run_command_line(argc, argv));
    return static_cast<int>(troupe::with_output_written(code));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: internal error: %s\n", error.what());
    return static_cast<int>(troupe::ExitCode::failed);
  }
}
