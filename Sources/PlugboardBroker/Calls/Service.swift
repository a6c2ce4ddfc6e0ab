// A client's word that it answers the calls of a key, or of all keys that match a
// pattern. Lives from its `serve` to its `unserve` or the end of its session.

import PlugboardMemory

typealias ServiceReference = UnsafeMutablePointer<Service>

/// One served key or pattern.
struct Service: ~Copyable {
    /// Who serves.
    let session: SessionReference
    private let text: UnsafeMutableRawBufferPointer
    /// Its place in its session's list.
    var place: Int32 = 0

    init(pattern: Span<UInt8>, session: SessionReference) {
        text = .copy(of: pattern)
        self.session = session
    }

    deinit {
        text.deallocate()
    }

    /// What it serves, as it was spelled.
    var pattern: Span<UInt8> { Span(kept: text) }
}
