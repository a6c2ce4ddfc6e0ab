// Names of the protocol as integers. A name of up to eight bytes fits in one word, so the decoder
// compares it in one step. The first byte is the lowest.

import PlugboardMemory

/// A name of up to eight bytes as one word.
public struct NameWord: Equatable {
    public let word: UInt64

    @inlinable
    @inline(__always)
    public init(word: UInt64) {
        self.word = word
    }

    /// The word of a literal; the compiler computes it.
    @inlinable
    @inline(__always)
    public init(_ name: StaticString) {
        word = name.word
    }

    /// The word of `bytes`; nil if there are more than eight, or one of them is zero.
    public init?(_ bytes: Span<UInt8>) {
        guard bytes.count <= 8, !bytes.contains(0) else { return nil }
        var word: UInt64 = 0
        for index in bytes.indices { word |= UInt64(bytes[index]) << UInt64(index * 8) }
        self.word = word
    }

    public static func ~= (pattern: NameWord, value: NameWord) -> Bool {
        pattern.word == value.word
    }
}

extension StaticString {
    /// The literal as a string, for messages.
    var text: String { description }
}
