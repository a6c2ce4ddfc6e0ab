// A child's output, cut into lines that are safe to show. Its memory is bounded: a line that never
// ends is cut.

import PlugboardWire

/// Cuts bytes into lines.
struct OutputLines {
    /// The most bytes of a shown line. A longer line is shown in pieces.
    static let lineBytesMax = 8_192

    private var pending: [UInt8] = []

    /// Takes bytes and returns the finished lines.
    mutating func take(_ bytes: some Collection<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte == 0x0A || pending.count == Self.lineBytesMax {
                lines.append(Self.shown(pending))
                pending.removeAll(keepingCapacity: true)
            }
            if byte != 0x0A { pending.append(byte) }
        }
        return lines
    }

    /// The last line without a line feed, when no more bytes will come.
    mutating func finish() -> String? {
        defer { pending = [] }
        return pending.isEmpty ? nil : Self.shown(pending)
    }

    /// The text that a terminal would show: the last state of a redrawn line, without colours. Other control
    /// characters are spelled out.
    private static func shown(_ line: [UInt8]) -> String {
        var line = line[...]
        while line.last == 0x0D { line = line.dropLast() }
        if let last = line.lastIndex(of: 0x0D) { line = line[(last + 1)...] }
        return Printable.text(withoutColours(line))
    }

    /// Without `ESC [ … m` and `ESC [ K`.
    private static func withoutColours(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var kept: [UInt8] = []
        var rest = line
        while let byte = rest.first {
            if let length = sequenceLength(rest) {
                rest = rest.dropFirst(length)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
        return kept
    }

    private static func sequenceLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.starts(with: [0x1B, UInt8(ascii: "[")]) else { return nil }
        let parameters = bytes.dropFirst(2).prefix { (0x30...0x3B).contains($0) }
        guard let final = bytes.dropFirst(2 + parameters.count).first,
            final == UInt8(ascii: "m") || final == UInt8(ascii: "K")
        else { return nil }
        return 3 + parameters.count
    }
}
