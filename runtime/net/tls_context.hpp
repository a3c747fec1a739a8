#pragma once
/// \file tls_context.hpp
/// A TlsContext from the inside. For the sources of TCP links only; brings Asio and OpenSSL.
#include "runtime/net/tls.hpp"

#include <boost/asio/ssl/context.hpp>

#include <string>
#include <utility>

namespace troupe::net {

/// Threads: SSL_new() on one context is safe from any thread; nothing else is called on it.
class AsioTlsContext final : public TlsContext {
 public:
  explicit AsioTlsContext(boost::asio::ssl::context context) : context_(std::move(context)) {}
  boost::asio::ssl::context& get() const { return context_; }

 private:
  mutable boost::asio::ssl::context context_;
};

/// What OpenSSL last said, and empties its list of errors.
std::string openssl_reason();

}  // namespace troupe::net
