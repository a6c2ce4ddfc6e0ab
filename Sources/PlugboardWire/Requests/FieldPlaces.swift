// Where the name of each field stands in its line, for messages. Kept outside of the
// notes on an envelope, in memory that no line need clear: what is there of an earlier
// line is never looked at, as only fields that were read are asked about.

/// Room for the places of two envelopes: a line's own, and one write within it.
struct FieldPlaces: ~Copyable {
    private static let count = 64
    private let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * count)

    init() {
        memory.initialize(repeating: 0, count: 2 * Self.count)
    }

    deinit {
        memory.deallocate()
    }

    /// The places of the line's own envelope, or of a write within it. Valid as long as this.
    @inline(__always)
    func places(ofWrite isWrite: Bool) -> UnsafeMutablePointer<UInt32> {
        memory + (isWrite ? Self.count : 0)
    }
}
