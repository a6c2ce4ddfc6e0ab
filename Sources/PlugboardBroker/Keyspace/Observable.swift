// One key with its value and its observers. The key, its links in the order of keys and a small value share
// one piece of memory. It exists as long as it has a value, an observer that names it exactly, or an entry in
// the history. Owned by `ObservableTable`. The fields of each publish come first, so that a bus with very
// many keys fetches as little memory as possible.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias ObservableHandle = Handle<Observable>

/// The state of one key.
struct Observable: ~Copyable {
    /// Values up to this length are stored beside their key, if the first value was no longer than that.
    private static let inPlaceBytesMax = 512
    private static let linkBytes = 8

    /// The revision of the last write; 0 while there is no value.
    var revision: UInt64 = 0
    /// The generation of patterns for which the list of observers is right.
    var observersGeneration: UInt64 = 0
    /// The links of `KeyOrder`, then the key, then room for a small value.
    private var memory: ByteBlock
    private let keyCount: UInt16
    /// How many levels of `KeyOrder` it is on.
    let height: UInt8
    /// A token begins with `$`, so only the broker writes it.
    let isReserved: Bool
    private var valueCount: UInt32 = 0
    /// One of its observers acknowledges, so they are told in phases.
    var hasAcknowledgers = false
    /// The list of observers isn't empty.
    var hasObservers = false
    /// A subscription names this key exactly.
    var hasExactObservers = false
    /// Without a value: the mark of the last generation of the history that keeps it; 0 if none does.
    var generation: UInt8 = 0
    /// The value, if it doesn't fit beside its key.
    private var outside = ByteBlock()
    /// What will end the value, and why the broker made the last write. Both are rare.
    var marks = LifetimeMarks()
    /// The value's writer. After a delete that is still owed to somebody, the author of the delete. Otherwise
    /// `.none`. Changed only by `ObservableTable`. An optional would take eight bytes more.
    fileprivate var signedBy = AuthorHandle.none
    /// Who observes it; `.none` while nobody does. Changed only by `ObservableTable`.
    fileprivate(set) var audience = AudienceHandle.none
    var cause: WriteCause = .none
    /// How many subscriptions are owed this key. They may have to be told that it is gone.
    var owedBy: Int32 = 0
    /// With a value: `owedPlace`. Without: `lastEntry`. Whoever reads either checks it.
    private var place: UInt32 = 0

    /// The observable of a key, with room for a value of about `valueCount` bytes.
    init(key: Span<UInt8>, height: Int, valueCount: Int) {
        let links = height * Self.linkBytes
        let start = links + key.count
        let isInPlace = valueCount > 0 && valueCount <= Self.inPlaceBytesMax
        memory = ByteBlock(count: isInPlace ? Self.blockBytes(for: start + valueCount) : start)
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

    /// What has to be known before a write. `isUnobserved` is true only if it is certain.
    @inline(__always)
    func standing(
        asOf generation: UInt64
    ) -> (revision: UInt64, isReserved: Bool, isUnobserved: Bool) {
        (revision, isReserved, isObserved(asOf: generation) == false)
    }

    /// Probably its place among the `OwedKeys` of the subscription that looked last. Subscriptions that are owed
    /// the same keys mostly have them at the same places. Not kept without a value.
    @inline(__always) var owedPlace: Int32 {
        get { Int32(bitPattern: place) }
        set { if hasValue { place = UInt32(bitPattern: newValue) } }
    }

    /// Without a value: the number of its last entry in the history, its lower 32 bits.
    @inline(__always) var lastEntry: UInt32 {
        get { place }
        set { place = newValue }
    }

    /// The next key in order on one level. `KeyOrder` sets it.
    @inline(__always)
    func link(_ level: Int) -> ObservableHandle {
        ObservableHandle(word: memory.word(at: level &* Self.linkBytes))
    }

    mutating func setLink(_ level: Int, _ next: ObservableHandle) {
        precondition(level < Int(height))
        memory.setWord(next.word, at: level * Self.linkBytes)
    }

    /// Whether anybody observes it; nil if the list is older than the patterns.
    @inline(__always)
    func isObserved(asOf generation: UInt64) -> Bool? {
        observersGeneration == generation ? hasObservers : nil
    }

    /// The value's writer. After a delete that is still owed to somebody, the author of the delete.
    @inline(__always) var writer: AuthorHandle? { signedBy == .none ? nil : signedBy }
    @inline(__always) var hasValue: Bool { revision != 0 }
    @inline(__always) var isNeeded: Bool { hasValue || hasExactObservers || owedBy > 0 }

    /// The kept JSON; empty if there is no value.
    @inline(__always) var value: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            if !outside.isEmpty { return outside.bytes[..<Int(valueCount)] }
            return memory.bytes[valueStart..<valueStart &+ Int(valueCount)]
        }
    }

    /// All that an event about the next write tells.
    @inline(__always)
    @_lifetime(borrow self, copy news, copy by)
    func tail(of news: borrowing News, by: Span<UInt8>) -> EventTail { news.tail(key, old: value, by: by) }

    /// What an event tells of the present value. `by` is its author's text.
    @_lifetime(borrow self, copy by)
    func tail(_ by: Span<UInt8>) -> EventTail {
        EventTail(
            key: key,
            revision: revision,
            value: value,
            old: Span(),
            by: by,
            cause: cause,
            reason: marks.reason
        )
    }

    /// Lends its key and its value. A long value is gone until `takeBack`.
    mutating func lend(to text: inout LentText, by: Span<UInt8>) {
        if outside.isEmpty {
            text.copy(by: by, key: key, value: value)
        } else {
            text.copy(by: by, key: key, value: Span())
            text.exchange(&outside, &valueCount)
        }
    }

    mutating func takeBack(_ text: inout LentText) {
        if text.hasLongValue { text.exchange(&outside, &valueCount) }
    }

    /// Asks for the memory of the key and a small value, without waiting for it.
    @inline(__always)
    func prefetchText() { memory.prefetch(upTo: Self.inPlaceBytesMax) }

    /// What setting a value has changed.
    struct Change: BitwiseCopyable {
        let isFirst: Bool
        let isReserved: Bool
        let hasMarks: Bool
        /// About how much larger its record in the journal is now.
        let growth: Int
        fileprivate let isOfSameWriter: Bool
    }

    @inline(__always)
    fileprivate mutating func set(
        _ value: Span<UInt8>,
        revision: UInt64,
        cause: WriteCause,
        writer: AuthorHandle
    ) -> Change {
        let change = Change(
            isFirst: !hasValue,
            isReserved: isReserved,
            hasMarks: !marks.isEmpty,
            growth: growth(to: value.count),
            isOfSameWriter: signedBy == writer
        )
        if outside.isEmpty, value.count <= memory.count &- valueStart {
            memory.write(value, at: valueStart)
        } else {
            move(value)
        }
        valueCount = UInt32(truncatingIfNeeded: value.count)
        self.revision = revision
        self.cause = cause
        return change
    }

    mutating func removeValue(cause: WriteCause) {
        outside = ByteBlock()
        valueCount = 0
        revision = 0
        self.cause = cause
    }

    /// About how many bytes its record in the journal has besides key and value.
    private static let recordBytes = 117

    /// About how large its record in the journal is; 0 without a value.
    var recordBytes: Int { hasValue ? Int(keyCount) + Int(valueCount) + Self.recordBytes : 0 }

    /// How much larger that is with another value.
    @inline(__always)
    func growth(to count: Int) -> Int {
        count &- Int(valueCount) &+ (hasValue ? 0 : Int(keyCount) &+ Self.recordBytes)
    }

    /// How many bytes count for its writer's user, besides the origin.
    var keptBytes: Int { Int(keyCount) + Int(valueCount) }

    /// A block up to this size is kept, however small the next value is.
    private static let keptRoomMax = 1_024

    /// Stores a value that doesn't fit as the last one did: beside the key if there is room, or else in a
    /// block of its own.
    @inline(never)
    private mutating func move(_ value: Span<UInt8>) {
        let (room, count) = (capacity, value.count)
        if count > room || (room > Self.keptRoomMax && count < room / 4) {
            let fits = count <= memory.count - valueStart
            outside = fits ? ByteBlock() : ByteBlock(count: Self.blockBytes(for: count))
        }
        if outside.isEmpty { memory.write(value, at: valueStart) } else { outside.write(value, at: 0) }
    }

    @inline(__always) private var keyStart: Int { Int(height) &* Self.linkBytes }
    @inline(__always) private var valueStart: Int { keyStart &+ Int(keyCount) }
    @inline(__always) private var capacity: Int {
        outside.isEmpty ? memory.count &- valueStart : outside.count
    }

    /// The size of a block that ends with a value. It has at least four bytes to spare, because the next
    /// value of a counter or a price may be a little longer. The rest is what the system would round up to
    /// anyway: its blocks are 8 bytes smaller than multiples of 16.
    private static func blockBytes(for count: Int) -> Int { (count + 11) & ~15 + 8 }
}

extension ObservableTable {
    /// Sets a value with its writer.
    @inline(__always)
    @discardableResult
    mutating func set(
        _ observable: ObservableHandle,
        _ value: Span<UInt8>,
        revision: UInt64,
        cause: WriteCause,
        writer: AuthorHandle,
        _ authors: inout Authors
    ) -> Observable.Change {
        let change = self[observable].set(value, revision: revision, cause: cause, writer: writer)
        if !change.isOfSameWriter { replaceWriter(of: observable, writer, &authors) }
        return change
    }

    /// Removes a value. Keeps the author and the cause of the delete while that is owed to somebody.
    mutating func removeValue(
        of observable: ObservableHandle,
        cause: WriteCause,
        writer: AuthorHandle,
        _ authors: inout Authors
    ) {
        self[observable].removeValue(cause: cause)
        replaceWriter(of: observable, self[observable].owedBy > 0 ? writer : nil, &authors)
    }

    /// Keeps the author of a delete, because somebody will be told of it later.
    mutating func keepDeleter(
        _ writer: AuthorHandle,
        of observable: ObservableHandle,
        _ authors: inout Authors
    ) {
        if !self[observable].hasValue, self[observable].writer != writer {
            replaceWriter(of: observable, writer, &authors)
        }
    }

    @inline(never)
    private mutating func replaceWriter(
        of observable: ObservableHandle,
        _ author: AuthorHandle?,
        _ authors: inout Authors
    ) {
        if let author { authors.retain(author) }
        if let writer = self[observable].writer { authors.release(writer) }
        self[observable].signedBy = author ?? .none
    }

    /// The audience of a key, made if there is none.
    mutating func makeAudience(of observable: ObservableHandle) -> AudienceHandle {
        let audience = self[observable].audience
        if audience != .none { return audience }
        let made = audiences.insert(KeyAudience())
        self[observable].audience = made
        return made
    }

    /// Removes the audience of a key if nobody is in it any more.
    mutating func removeEmptyAudience(of observable: ObservableHandle) {
        let audience = self[observable].audience
        guard audience != .none, audiences[audience].isEmpty else { return }
        _ = audiences.remove(audience)
        self[observable].audience = .none
    }

    /// Forgets the list of those who observe a key.
    mutating func removeObservers(of observable: ObservableHandle) {
        let audience = self[observable].audience
        guard audience != .none else { return }
        audiences[audience].observers.releaseMemory()
        self[observable].hasObservers = false
        removeEmptyAudience(of: observable)
    }
}

extension Observable {
    private static var always: Invariants { Invariants(of: "Observable") }

    /// Checks what one observable alone can tell.
    func checkInvariants() throws(BrokenInvariant) {
        let name = String(key)
        try Self.always.agree(
            "the broker's own keys are known by their token",
            isReserved,
            Key.isReserved(key)
        )
        try Self.always.hold("a value fits its memory", Int(valueCount) <= capacity, of: name)
        try Self.always.hold("a value has a writer", !hasValue || writer != nil, of: name)
        try Self.always.hold("without a revision there is no value", hasValue || valueCount == 0, of: name)
        try Self.always.hold("it is owed by nobody or by some", owedBy >= 0, of: name)
        try Self.always.hold(
            "something needs it, or the history names it",
            isNeeded || generation > 0,
            of: name
        )
        try Self.always.hold(
            "without a value it is bound to nothing",
            hasValue || marks.bond == nil,
            of: name
        )
    }
}
