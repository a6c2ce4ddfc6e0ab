// A client's word that it answers the calls of a key, or of all keys that match a
// pattern. Lives from its `serve` to its `unserve` or the end of its session.

typealias ServiceReference = UnsafeMutablePointer<Service>

/// One served key or pattern.
struct Service: ~Copyable {
    /// Who serves.
    let session: SessionReference
    private let text: UnsafeMutableRawBufferPointer
    /// Its place in its session's list.
    var place: Int32 = 0

    init(pattern: UnsafeRawBufferPointer, session: SessionReference) {
        text = .allocate(byteCount: pattern.count, alignment: 1)
        text.copyMemory(from: pattern)
        self.session = session
    }

    deinit {
        text.deallocate()
    }

    /// What it serves, as it was spelled.
    var pattern: UnsafeRawBufferPointer { UnsafeRawBufferPointer(text) }
}
