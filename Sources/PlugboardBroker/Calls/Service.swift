// A client's promise to answer the calls of a key, or of all keys that match a pattern. Exists from its
// `serve` to its `unserve` or the end of its session.

import PlugboardMemory

/// One served key or pattern.
final class Service {
    /// The client that serves.
    let session: SessionHandle
    private let text: [UInt8]
    /// Its place in its session's list.
    var place = 0
    /// The calls that it got.
    var counts = CallCounts()

    init(pattern: Span<UInt8>, session: SessionHandle) {
        text = Array(pattern)
        self.session = session
    }

    /// The pattern as it was written.
    var pattern: [UInt8] { text }
}
