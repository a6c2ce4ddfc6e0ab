// An observer of the generator. It counts what arrives and keeps the last bytes, so that the bench can
// check that the last event is what was published last.

import PlugboardMemory

/// A connection that observes. Only one thread uses it.
struct LoadObserver {
    /// Enough for the end of a value and what a protocol adds after it.
    private static let tailBytes = 96
    let link: LoadLink
    /// How to recognize a whole batch.
    let batchMark: Mark
    /// Returns the observer's answer to a line; only lines with an answer count. Nil if the observer
    /// answers nothing.
    var answer: (@Sendable (ArraySlice<UInt8>) -> [UInt8]?)?
    /// The beginning of an incomplete line, if lines are answered.
    private var rest: [UInt8] = []
    private var units = 0
    private var tail: [UInt8] = []

    init(link: LoadLink, batchMark: Mark, answer: (@Sendable (ArraySlice<UInt8>) -> [UInt8]?)? = nil) {
        self.link = link
        self.batchMark = batchMark
        self.answer = answer
    }

    /// Batches that have arrived completely. 0 if the observer isn't told of every message.
    var batches: Int { batchMark.units > 0 ? units / batchMark.units : 0 }

    mutating func clearCounts() {
        link.discardArrived()
        units = 0
    }

    /// Counts what has arrived and returns the answers to it.
    mutating func take(_ bytes: Span<UInt8>) -> [UInt8] {
        keepTail(bytes)
        guard let answer else {
            units += batchMark.units(in: bytes)
            return []
        }
        rest.append(bytes)
        var answers: [UInt8] = []
        while let feed = rest.firstIndex(of: 0x0A) {
            if let line = answer(rest[..<feed]) {
                answers += line
                units += 1
            }
            rest.removeFirst(feed + 1)
        }
        return answers
    }

    private mutating func keepTail(_ bytes: Span<UInt8>) {
        if bytes.count >= Self.tailBytes { tail.removeAll(keepingCapacity: true) }
        tail.append(bytes[max(0, bytes.count - Self.tailBytes)...])
        if tail.count > Self.tailBytes { tail.removeFirst(tail.count - Self.tailBytes) }
    }

    func lastBytesContain(_ text: String) -> Bool {
        String(decoding: tail, as: UTF8.self).contains(text)
    }
}
