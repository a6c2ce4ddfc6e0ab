// What the events about a write tell of its key: the key, the value before, and the author's text. Telling an
// event changes the keyspace, which counts what is owed. So short texts are copied, and the memory of a long
// value is taken out until the event is told.

import PlugboardMemory
import PlugboardWire

/// The texts of one write. `Keyspace.lend` makes it, and `Keyspace.takeBack` ends it.
struct LentText: ~Copyable {
    /// The author's text, the key, and a value that is stored beside its key.
    private var copied = ByteBuffer()
    private var byCount = 0
    private var keyCount = 0
    /// A value that has memory of its own.
    private var value = ByteBlock()
    private var valueCount = 0

    mutating func copy(by: Span<UInt8>, key: Span<UInt8>, value: Span<UInt8>) {
        (byCount, keyCount) = (by.count, key.count)
        copied.removeAll()
        copied.append(by)
        copied.append(key)
        copied.append(value)
    }

    var hasLongValue: Bool { !value.isEmpty }

    /// Exchanges the memory of a long value, and how long that is, for the same of an observable.
    mutating func exchange(_ block: inout ByteBlock, _ count: inout UInt32) {
        swap(&value, &block)
        let lent = count
        count = UInt32(valueCount)
        valueCount = Int(lent)
    }

    /// All that the event tells.
    @_lifetime(borrow self, copy news)
    func tail(of news: borrowing News) -> EventTail {
        let copied = copied.bytes
        let keyEnd = byCount + keyCount
        let old = hasLongValue ? value.bytes[..<valueCount] : copied[keyEnd...]
        return news.tail(copied[byCount..<keyEnd], old: old, by: copied[..<byCount])
    }
}
