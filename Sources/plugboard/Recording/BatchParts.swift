// How a batch that is too long for one line is divided: into as few batches as possible, in their order.

import PlugboardWire

enum BatchParts {
    /// The bytes of a batch's line without its writes.
    private static let envelopeBytes = 64

    /// Which of the writes, with these lengths in bytes, go into one line together.
    static func ranges(_ lengths: [Int]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var (start, bytes) = (0, envelopeBytes)
        for (index, length) in lengths.enumerated() {
            if index > start, bytes + length + 1 > Limits.lineBytesMax {
                parts.append(start..<index)
                (start, bytes) = (index, envelopeBytes)
            }
            bytes += length + 1
        }
        return start < lengths.count ? parts + [start..<lengths.count] : parts
    }
}
