// troupe_net_bench: two processes over loopback; raw Asio, links and endpoints by turns in one run.
#include "runtime/net/ucx.hpp"

#include "bench/net/load.hpp"
#include "bench/support/measure.hpp"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <array>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace troupe::bench;

struct Case {
  const char* name;
  std::size_t reply_bytes;
  std::size_t depth;
};
constexpr std::array cases{Case{"64 bytes, 1 under way", 64, 1},
                           Case{"64 bytes, 64 under way", 64, 64},
                           Case{"16 x 64 bytes, 64 under way", 1024, 64},
                           Case{"1 MiB, 8 under way", std::size_t{1} << 20, 8}};

struct Peer {
  const char* name;
  std::unique_ptr<Client> client;
  std::vector<double> rates;
};

/// The other process: serves until its standard input ends.
int serve() {
  const auto raw = serve_raw();
  const auto link = serve_linked(false, false);
  const auto endpoint = serve_linked(true, false);
  const auto ucx = serve_linked(false, true);
  const auto proxied = serve_proxied(false);
  const auto proxied_ucx = serve_proxied(true);
  for (const auto* server : {&raw, &link, &endpoint, &ucx, &proxied, &proxied_ucx}) {
    std::cout << (*server)->address() << '\n';
  }
  std::cout << std::flush;
  std::cin.get();
  return 0;
}

/// Starts serve() in a process of its own. Ends with this one: its input closes.
struct ServingProcess {
  explicit ServingProcess(const std::string& program) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("cannot make pipes");
    }
    pid = fork();
    if (pid == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      execl(program.c_str(), program.c_str(), "--serve", nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    input = to[1];
    FILE* lines = fdopen(from[0], "r");
    std::array<char, 100> line{};
    for (auto& address : addresses) {
      if (fgets(line.data(), line.size(), lines) == nullptr) {
        throw std::runtime_error("the serving process did not start");
      }
      address = std::string(line.data()).substr(0, std::string(line.data()).find('\n'));
    }
    fclose(lines);
  }
  ~ServingProcess() {
    close(input);
    waitpid(pid, nullptr, 0);
  }
  ServingProcess(const ServingProcess&) = delete;
  ServingProcess& operator=(const ServingProcess&) = delete;
  pid_t pid = -1;
  int input = -1;
  std::array<std::string, 6> addresses;
};

void print_case(const Case& load, std::vector<Peer>& peers, nlohmann::ordered_json& results) {
  const bool bulk = load.reply_bytes > 1024;
  const double raw = stats_of(peers.front().rates).median;
  for (auto& peer : peers) {
    const auto stats = stats_of(peer.rates);
    const double value =
        bulk ? stats.median * static_cast<double>(load.reply_bytes) * 1e-9 : stats.median;
    fmt::print("{:<28}{:<24}{:>12.{}f} {:<12}{:>6.2f} of raw   (spread {:.1f} %)\n", load.name,
               peer.name, value, bulk ? 2 : 0, bulk ? "GB/s" : "requests/s", stats.median / raw,
               100 * stats.mad / stats.median);
    results.push_back({{"case", load.name},
                       {"peer", peer.name},
                       {"replies_per_second", to_json(stats)},
                       {"of_raw", stats.median / raw}});
    peer.rates.clear();
  }
}

struct Arguments {
  bool serving = false;
  int repeats = 15;
  double seconds = 0.3;
  std::string only;
  std::string peer;
  std::string out;
};

int measure(const std::string& program, const Arguments& arguments) {
  const ServingProcess server(program);
  std::vector<Peer> peers;
  peers.push_back({"raw Asio", make_raw_client(server.addresses[0], false), {}});
  peers.push_back({"raw Asio, call by call", make_raw_client(server.addresses[0], true), {}});
  peers.push_back({"link", make_link_client(server.addresses[1], false), {}});
  peers.push_back({"endpoint", make_endpoint_client(server.addresses[2]), {}});
  peers.push_back({"proxies", make_proxy_client(server.addresses[4], false), {}});
  if (const auto here = troupe::net::ucx_here(); here.ok()) {
    peers.push_back({"link over UCX", make_link_client(server.addresses[3], true), {}});
    peers.push_back({"proxies over UCX", make_proxy_client(server.addresses[5], true), {}});
  } else {
    fmt::print("link over UCX: skipped: {}\n", here.error().what());
  }
  if (has_perftest()) {
    peers.push_back({"ucx_perftest", make_perftest_client(), {}});
  } else {
    fmt::print("ucx_perftest: skipped: it is not installed; try: the package ucx-utils\n");
  }
  std::erase_if(peers, [&, first = peers.front().name](const Peer& peer) {
    return !arguments.peer.empty() && peer.name != first && peer.name != arguments.peer;
  });
  const auto time = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(arguments.seconds));
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const auto& load : cases) {
    if (std::string_view(load.name).find(arguments.only) == std::string_view::npos) {
      continue;
    }
    for (int repeat = 0; repeat <= arguments.repeats; ++repeat) {
      for (auto& peer : peers) {
        const double rate = peer.client->run({load.reply_bytes, load.depth, time});
        if (repeat > 0) {  // the first warms up
          peer.rates.push_back(rate);
        }
      }
    }
    print_case(load, peers, results);
  }
  if (!arguments.out.empty()) {
    std::ofstream(arguments.out) << results.dump(2) << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures links over TCP beside raw Asio.", "troupe_net_bench");
  Arguments arguments;
  app.add_flag("--serve", arguments.serving, "be the other process");
  app.add_option("--repeats", arguments.repeats, "of each measurement")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", arguments.seconds, "of each measurement")
      ->check(CLI::Range(0.01, 60.0));
  app.add_option("--only", arguments.only, "loads with this in their name");
  app.add_option("--peer", arguments.peer, "this one alone, beside raw Asio; for a profiler");
  app.add_option("--out", arguments.out, "where the results go, as JSON");
  CLI11_PARSE(app, argc, argv);
  return arguments.serving ? serve() : measure(argv[0], arguments);
}
