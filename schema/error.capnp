@0xc1f6a52f0d3b9e01;
# The message of a `failure` frame: the answer to a request that failed. That an exported actor ended is told by `actor_down`
# (recovery.capnp).
# Who:        the serving process to the requesting one.
# Ordering:   a failure is matched by the request id in the frame's header, never by order.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. A reader ignores
#             what it does not know. Whatever an old reader would misunderstand raises `protocol_version` (runtime/net/frame.hpp).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

struct ErrorReply {
  code @0 :UInt16;
  # Set by the sender: number of an Errc (runtime/base/result.hpp), 1..14. A number that the reader does not know is read as
  # `internal`. Default 0 is not an error; it is read as `internal` too.

  text @1 :Text;
  # Set by the sender: one sentence, UTF-8, at most 4096 bytes (both sides cut what is longer). Default: empty.
}
