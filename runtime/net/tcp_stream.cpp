#include "runtime/net/tcp_stream.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509.h>

namespace troupe::net {
namespace {

/// What the peer did not like about our certificate, as TLS names it.
std::string of_our_certificate(int reason) {
  switch (reason) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "it comes from another authority than the peer's; try: the same authority for all";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "it has expired; try: a new certificate";
    default:
      return "it is wrong or not valid yet; try: a new certificate from the authority of all";
  }
}

bool is_about_certificates(int reason) {
  return reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR ||
         reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
         reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
         reason == SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE ||
         reason == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED ||
         reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN ||
         reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED;
}

/// \param verified  what the check of the peer's certificate came to
Error of_tls(int reason, long verified) {
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return {Errc::unauthenticated,
            fmt::format("TLS: the peer's certificate is refused: {}; try: certificates that are "
                        "valid now, from the same authority for all",
                        X509_verify_cert_error_string(verified))};
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return {Errc::unauthenticated, "TLS: expected a certificate from the peer, found none"};
  }
  if (is_about_certificates(reason)) {
    return {Errc::unauthenticated,
            "TLS: the peer refuses this end's certificate: " + of_our_certificate(reason)};
  }
  const char* text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
  if (reason == SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC ||
      reason == SSL_R_SSLV3_ALERT_BAD_RECORD_MAC) {
    return {Errc::data_corruption,
            fmt::format("TLS: expected records with a right checksum ({})", text)};
  }
  return {Errc::unauthenticated,
          fmt::format("expected TLS 1.3 from the peer, found something else ({}); try: TLS at both "
                      "ends or at none",
                      text != nullptr ? text : "unknown")};
}

}  // namespace

std::string to_text(const asio::ip::tcp::endpoint& endpoint) {
  const auto host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", host, endpoint.port())
                                    : fmt::format("{}:{}", host, endpoint.port());
}

bool stays_inside(const asio::ip::address& one, const asio::ip::address& other) {
  return one == other || (one.is_loopback() && other.is_loopback());
}

const TlsContext* tls_for(const TcpStream::Socket& socket, const TcpOptions& options) {
  boost::system::error_code error;
  const auto here = socket.local_endpoint(error).address();
  const auto there = error ? here : socket.remote_endpoint(error).address();
  const bool inside = !error && stays_inside(here, there);
  return inside && !options.tls_inside ? nullptr : options.tls.get();
}

TcpStream::TcpStream(std::shared_ptr<TcpIo::State> io, Socket socket, const TlsContext* tls)
    : count_(std::in_place, std::move(io)), socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  peer_ = to_text(socket_.remote_endpoint(ignored));
  if (tls != nullptr) {
    tls_.emplace(socket_, static_cast<const AsioTlsContext*>(tls)->get());
  }
}

std::size_t TcpStream::write_now(std::span<const asio::const_buffer> buffers) {
  if (tls_) {
    return 0;
  }
  boost::system::error_code error;  // comes again with write_some()
  return socket_.write_some(buffers, error);
}

void TcpStream::set_user_timeout(Clock::duration timeout) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  using UserTimeout = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  boost::system::error_code ignored;
  socket_.set_option(UserTimeout(static_cast<int>(std::min<std::int64_t>(ms, 1 << 30))), ignored);
}

void TcpStream::shut_down_writing() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void TcpStream::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  count_.reset();
}

bool TcpStream::is_no_tls(const boost::system::error_code& error) {
  if (error.category() != asio::error::get_ssl_category()) {
    return false;
  }
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  return reason != SSL_R_CERTIFICATE_VERIFY_FAILED && !is_about_certificates(reason);
}

Error TcpStream::explain(const boost::system::error_code& error) const {
  if (error.category() == asio::error::get_ssl_category()) {
    const auto verified =
        tls_ ? SSL_get_verify_result(const_cast<asio::ssl::stream<Socket&>&>(*tls_).native_handle())
             : X509_V_OK;
    return of_tls(ERR_GET_REASON(static_cast<unsigned long>(error.value())), verified);
  }
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return {Errc::peer_lost, "closed by the peer"};
  }
  return {Errc::peer_lost, error.message()};
}

}  // namespace troupe::net
