// The receiving end of the generator: counts what arrives and keeps its last bytes, by
// which it is known that the last thing observed is the last that was published.

/// One observing connection. Used by one thread.
struct Observer {
    /// Long enough for the end of a value and what a protocol puts after it.
    private static let tailBytes = 96
    let link: Link
    /// What a whole batch looks like here.
    let batchMark: Mark
    private(set) var units = 0
    private(set) var tail: [UInt8] = []

    init(link: Link, batchMark: Mark) {
        self.link = link
        self.batchMark = batchMark
    }

    /// Batches that have arrived whole.
    var batches: Int { units / batchMark.units }

    mutating func clearCounts() {
        units = 0
    }

    /// Counts what arrived.
    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        units += batchMark.units(in: bytes)
        if bytes.count < Self.tailBytes {
            tail += bytes
        } else {
            tail.replaceSubrange(0..., with: bytes.suffix(Self.tailBytes))
        }
        if tail.count > Self.tailBytes { tail.removeFirst(tail.count - Self.tailBytes) }
    }

    /// Whether `text` is among the last bytes that arrived.
    func lastBytesContain(_ text: String) -> Bool {
        String(decoding: tail, as: UTF8.self).contains(text)
    }
}
