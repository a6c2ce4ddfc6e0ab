// One key with its value. The key, its links in the order of keys and the value share one piece of memory. It exists
// as long as it has a value or an entry in the history, or the audience needs it: see `Reach`. Owned by the keyspace. What
// few keys have is in `KeyExtras`: a bus can have a million keys. The fields of each publish come first, so that it
// fetches as little memory as possible.

import PlugboardMemory
import PlugboardWire

typealias ObservableHandle = Handle<Observable>

struct Observable: ~Copyable {
    /// A block with room for so much is kept, however small the next value is.
    private static let keptRoomMax = 1_024
    private static let linkBytes = 4

    /// The revision of the last write; 0 while there is no value.
    var revision: UInt64 = 0
    /// The links of `KeyOrder`, then the key, then room for a value.
    private var memory: ByteBlock
    private let keyCount: UInt16
    /// How many levels of `KeyOrder` it is on.
    let height: UInt8
    /// A token begins with `$`, so only the broker writes it.
    let isReserved: Bool
    private(set) var valueCount: UInt32 = 0
    /// The history has an entry that left it without a value: the one with the number `lastEntry`.
    var isRemembered = false
    /// The slot of the value's writer, which can't be another's, because writers stay as long as their values.
    /// After a delete that is still owed to somebody, that of the author of the delete. Otherwise 0.
    var writer: UInt32 = 0
    /// The slot of its extras; 0 while it has none. Changed only by the keyspace.
    var extras: UInt32 = 0
    /// The lower 32 bits of that entry's number. Whoever reads it checks it.
    var lastEntry: UInt32 = 0
    /// When the last write or delete was made, in seconds since 1970; 0 if nobody knows.
    var when: UInt32 = 0

    /// The observable of a key, with room for a value of about `valueCount` bytes.
    init(key: Span<UInt8>, height: Int, valueCount: Int) {
        let links = height * Self.linkBytes
        let start = links + key.count
        memory = ByteBlock(count: valueCount > 0 ? Self.blockBytes(for: start + valueCount) : start)
        memory.write(key, at: links)
        keyCount = UInt16(key.count)
        self.height = UInt8(height)
        isReserved = Key.isReserved(key)
    }

    @inline(__always) var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { memory.bytes[keyStart..<valueStart] }
    }

    @inline(__always)
    func isNamed(_ key: Span<UInt8>) -> Bool {
        key.count == Int(keyCount) && memory.holds(key, at: keyStart)
    }

    /// The slot of the next key in order on one level; 0 at the end. `KeyOrder` sets it.
    @inline(__always)
    func link(_ level: Int) -> UInt32 { memory.halfWord(at: level &* Self.linkBytes) }

    mutating func setLink(_ level: Int, _ next: UInt32) {
        precondition(level < Int(height))
        memory.setHalfWord(next, at: level * Self.linkBytes)
    }

    @inline(__always) var hasValue: Bool { revision != 0 }
    /// It stays, whoever observes it.
    @inline(__always) var isNeeded: Bool { hasValue || isRemembered }

    /// The kept JSON; empty if there is no value.
    @inline(__always) var value: Span<UInt8> {
        @_lifetime(borrow self)
        get { memory.bytes[valueStart..<valueStart &+ Int(valueCount)] }
    }

    /// Asks for the memory of the key and the beginning of its value, without waiting for it.
    @inline(__always)
    func prefetchText() { memory.prefetch(upTo: 512) }

    struct Change: BitwiseCopyable {
        let isFirst: Bool
        let isReserved: Bool
        /// Whether it is bound, or the broker made the write before for a reason.
        var hasMarks = false
        /// About how much larger its record in the journal is now.
        let growth: Int
        let isOfSameWriter: Bool
    }

    @inline(__always)
    mutating func set(_ value: Span<UInt8>, revision: UInt64, writer: AuthorHandle) -> Change {
        let change = Change(
            isFirst: !hasValue,
            isReserved: isReserved,
            growth: growth(to: value.count),
            isOfSameWriter: self.writer == writer.slot
        )
        if value.count <= room, isUsed(by: value.count) {
            memory.write(value, at: valueStart)
        } else {
            changeRoom(for: value)
        }
        valueCount = UInt32(truncatingIfNeeded: value.count)
        self.revision = revision
        return change
    }

    /// Whether there isn't far too much room for so many bytes.
    @inline(__always)
    private func isUsed(by count: Int) -> Bool { room <= Self.keptRoomMax || count >= room / 4 }

    @inline(never)
    private mutating func changeRoom(for value: Span<UInt8>) {
        var other = ByteBlock(count: Self.blockBytes(for: valueStart + value.count))
        other.write(memory.bytes[..<valueStart], at: 0)
        other.write(value, at: valueStart)
        memory = other
    }

    /// Removes a value, and its memory if that is large.
    mutating func removeValue() {
        valueCount = 0
        revision = 0
        if !isUsed(by: 0) { changeRoom(for: Span()) }
    }

    /// About how many bytes its record in the journal has besides key and value.
    private static let recordBytes = 117

    /// About how large its record in the journal is; 0 without a value.
    var recordBytes: Int { hasValue ? Int(keyCount) + Int(valueCount) + Self.recordBytes : 0 }

    @inline(__always)
    func growth(to count: Int) -> Int {
        count &- Int(valueCount) &+ (hasValue ? 0 : Int(keyCount) &+ Self.recordBytes)
    }

    @inline(__always) private var keyStart: Int { Int(height) &* Self.linkBytes }
    @inline(__always) private var valueStart: Int { keyStart &+ Int(keyCount) }
    @inline(__always) private var room: Int { memory.count &- valueStart }

    /// The size of a block that ends with a value. It has at least four bytes to spare, because the next
    /// value of a counter or a price may be a little longer. The rest is what the system would round up to
    /// anyway: its blocks are 8 bytes smaller than multiples of 16.
    static func blockBytes(for count: Int) -> Int { (count + 11) & ~15 + 8 }
}

extension Observable: Checked {
    func checkInvariants() throws(BrokenInvariant) {
        let name = String(key)
        try Self.always.agree(
            "the broker's own keys are known by their token", isReserved, Key.isReserved(key)
        )
        try Self.always.hold("a value has a writer", !hasValue || writer != 0, of: name)
        try Self.always.hold("without a revision there is no value", hasValue || valueCount == 0, of: name)
        let isFitting = Int(valueCount) <= room && isUsed(by: Int(valueCount))
        try Self.always.hold("a value fits its memory, and that isn't far too large", isFitting, of: name)
    }
}

// What few keys have besides a value: a cause, and what ends them. So it isn't part of each observable. Extras are
// there as long as something is in them; owned by the keyspace.

typealias ExtrasHandle = Handle<KeyExtras>

struct KeyExtras: BitwiseCopyable {
    /// The slot of its bond; 0 if there is none.
    var bond: UInt32 = 0
    /// Why the broker made the last write.
    var reason: EventReason?
    var cause = WriteCause.none

    var hasMarks: Bool { bond != 0 || reason != nil }
    var isEmpty: Bool { !hasMarks && cause == .none }
}

// What events and replies tell of a key. The texts are lent by the keyspace.

extension EventTail {
    /// A key's value as events and replies show it. In a snapshot it also says whether the writer is still
    /// connected.
    @_lifetime(borrow keyspace)
    init(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace, isInitial: Bool) {
        self.init(
            key: keyspace.all[observable].key,
            revision: keyspace.all[observable].revision,
            value: keyspace.value(of: observable),
            old: Span(),
            by: keyspace.authors.by(keyspace.writer(of: observable)),
            cause: keyspace.cause(of: observable),
            reason: keyspace.extras(of: observable).reason
        )
        when = keyspace.all[observable].when
        self.isInitial = isInitial
        if isInitial { live = keyspace.isLive(observable) }
    }

    @inline(__always)
    @_lifetime(borrow keyspace, copy news)
    init(_ news: borrowing WriteEvent, _ keyspace: borrowing Keyspace) {
        self.init(
            key: keyspace.all[news.observable].key,
            revision: news.revision,
            value: news.value,
            old: news.old(in: keyspace),
            by: keyspace.authors.by(news.author),
            cause: news.cause,
            reason: news.reason
        )
        when = keyspace.history.seconds
        ending = news.ending
    }
}
