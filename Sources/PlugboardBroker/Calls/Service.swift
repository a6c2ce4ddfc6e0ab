// A client's word that it answers the calls of a key, or of all keys that match a
// pattern. Lives from its `serve` to its `unserve` or the end of its session.

import PlugboardMemory

/// One served key or pattern.
final class Service {
    /// Who serves.
    let session: SessionHandle
    private let text: ByteBlock
    /// Its place in its session's list.
    var place = 0
    /// The calls that came by it.
    var counts = CallCounts()

    init(pattern: Span<UInt8>, session: SessionHandle) {
        text = ByteBlock(pattern)
        self.session = session
    }

    /// What it serves, as it was spelled.
    var pattern: Span<UInt8> {
        @_lifetime(immortal)
        get { text.kept }
    }
}
