// ucx_perftest as a client like the others: what UCX does without anything of ours.
#include "bench/net/load.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace troupe::bench {
namespace {

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

std::string output_of(const std::string& command) {
  std::string text;
  if (FILE* in = popen(command.c_str(), "r"); in != nullptr) {
    std::array<char, 4096> block{};
    while (const auto n = fread(block.data(), 1, block.size(), in)) {
      text.append(block.data(), n);
    }
    pclose(in);
  }
  return text;
}

/// The last number of the last line: messages per second over the whole test.
double last_number(const std::string& text) {
  std::istringstream in(text);
  double value = 0;
  for (std::string word; in >> word;) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    value = *end == '\0' ? number : value;
  }
  return value;
}

class PerftestClient final : public Client {
 public:
  double run(const Load& load) override {
    const bool one_by_one = load.depth == 1;
    const auto program =
        fmt::format("UCX_TLS={} timeout 60 ucx_perftest -p {}", transports, free_port());
    const auto test = fmt::format("{} -t {} -s {} -n {} -f 127.0.0.1 2> /dev/null", program,
                                  one_by_one ? "ucp_am_lat" : "ucp_am_bw", load.reply_bytes,
                                  load.reply_bytes > 1024 ? 1000 : 200'000);
    std::thread server([&] { output_of(program + " 2> /dev/null"); });
    double rate = 0;
    for (int tries = 0; rate == 0 && tries < 100; ++tries) {  // until the server listens
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rate = last_number(output_of(test));
    }
    server.join();
    return one_by_one ? rate / 2 : rate;  // there and back
  }

 private:
  static constexpr const char* transports = "posix,cma";
};

}  // namespace

std::unique_ptr<Client> make_perftest_client() {
  return std::make_unique<PerftestClient>();
}

bool has_perftest() {
  return std::system("command -v ucx_perftest > /dev/null") == 0;
}

}  // namespace troupe::bench
