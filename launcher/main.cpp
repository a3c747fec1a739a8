// The program `troupe`.
#include "launcher/command_line.hpp"
#include "launcher/commands.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  troupe::block_stop_signals();
  try {
    return troupe::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: internal error: %s\n", error.what());
    return static_cast<int>(troupe::ExitCode::failed);
  }
}
