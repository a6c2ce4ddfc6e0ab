// How much the server takes from a browser, and how long it waits. Whoever can reach the port can try to
// send more. Each limit has a test at it and one past it.

import PlugboardWire

/// The limits of the page's server.
enum WebLimits {
    /// The bytes of a request's first line and headers, with the empty line at their end.
    static let headBytesMax = 16_384
    /// The headers of a request.
    static let headersMax = 64
    /// The bytes of a body: one line of the protocol, perhaps with its line feed.
    static let bodyBytesMax = Limits.lineBytesMax + 1
    /// Open connections. One more takes the place of the one that has sent no request for the longest time.
    static let connectionsMax = 64
    /// Open streams of events. Each has a connection to the broker.
    static let streamsMax = 16
    /// The requests of one stream that the broker hasn't answered.
    static let requestsMax = 32
    /// The bytes that wait for a page. Past that the broker is not read, and so owes the page what follows.
    static let streamBytesMax = 262_144
    /// The bytes that the kernel is asked to keep for a connection, each way.
    static let kernelBytes: Int32 = 131_072
    /// The bytes of one line of the broker. Past that the stream is given a new connection to it.
    static let lineBytesMax = 8_388_608
}

/// How long the server waits, in seconds. Tests wait less.
struct WebPatience {
    /// For the head of a request, from its first byte or from the connection's beginning.
    var head = 5.0
    /// For a body.
    var body = 10.0
    /// For the next request on a connection.
    var idle = 60.0
    /// For the broker's reply.
    var answer = 30.0
    /// For a browser that reads nothing of its answer.
    var write = 30.0
    /// After how long without a line a stream gets an empty comment, which fails if the page is gone.
    var heartbeat = 15.0
    /// Before another attempt to reach a broker that is gone.
    var retry = 0.25
}
