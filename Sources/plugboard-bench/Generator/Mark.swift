// Counts arrivals without parsing them. Whatever a system sends for one message has a known number of
// line feeds or bytes, which the dialect knows. Counting must cost less than the server's work.

/// What to count, and how many units a message has.
struct Mark: Equatable, Sendable {
    let units: Int
    private let isLines: Bool

    static func lines(_ count: Int) -> Mark { Mark(units: count, isLines: true) }
    static func bytes(_ count: Int) -> Mark { Mark(units: count, isLines: false) }

    /// The number of units in these bytes.
    func units(in bytes: UnsafeRawBufferPointer) -> Int {
        isLines ? LineCount.lineFeeds(in: bytes) : bytes.count
    }

    /// The mark of `count` messages.
    func times(_ count: Int) -> Mark { Mark(units: units * count, isLines: isLines) }
}

/// Counts line feeds, eight bytes at a time, in a loop that the compiler vectorizes.
enum LineCount {
    private static let wordBytes = 8
    /// After more words, a lane could overflow.
    private static let wordsMax = 255
    private static let lows: UInt64 = 0x0101_0101_0101_0101
    private static let sevens: UInt64 = 0x7F7F_7F7F_7F7F_7F7F

    static func lineFeeds(in bytes: UnsafeRawBufferPointer) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var total = 0
        var words = bytes.count / wordBytes
        var place = base
        while words > 0 {
            let some = min(words, wordsMax)
            total += lineFeeds(at: place, words: some)
            place += some * wordBytes
            words -= some
        }
        for byte in bytes.suffix(bytes.count % wordBytes) where byte == 0x0A { total += 1 }
        return total
    }

    /// Counts line feeds in up to `wordsMax` words. Each lane of `counts` counts those at its place in
    /// the words.
    private static func lineFeeds(at start: UnsafeRawPointer, words: Int) -> Int {
        var counts: UInt64 = 0
        for word in 0..<words {
            let difference =
                start.loadUnaligned(fromByteOffset: word &* wordBytes, as: UInt64.self) ^ (lows &* 0x0A)
            let isOther = ((difference & sevens) &+ sevens) | difference
            counts &+= (~isOther >> 7) & lows
        }
        let pairs = (counts & 0x00FF_00FF_00FF_00FF) &+ ((counts >> 8) & 0x00FF_00FF_00FF_00FF)
        return Int((pairs &* 0x0001_0001_0001_0001) >> 48)
    }
}
