// One key with what is kept of it and who observes it. The key, its links in the order of keys and
// a small value lie in one piece of memory. There for as long as it has a value, an observer that
// names it exactly, or a place in the history; owned by the `ObservableTable`. What each publish
// needs comes first, so that among very many keys as little memory as possible is fetched.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias ObservableHandle = Handle<Observable>

/// The state of one key.
struct Observable: ~Copyable {
    /// Values up to this length lie with their key, where the first one was no longer.
    private static let inPlaceBytesMax = 512
    private static let keyOffset = 8
    private static let linkBytes = 8

    /// The revision of the last write; 0 while there is no value.
    var revision: UInt64 = 0
    /// The generation of the patterns for which the list of observers is true.
    var observersGeneration: UInt64 = 0
    /// The links of `KeyOrder`, then the encoded piece of every event about the key, then room for a
    /// small value.
    private var memory: ByteBlock
    private let prefixCount: UInt16
    private let keyCount: UInt16
    private var valueCount: UInt32 = 0
    /// In how many levels of `KeyOrder` it stands.
    let height: UInt8
    /// A token begins with `$`: only the broker writes it.
    let isReserved: Bool
    /// One of its observers acknowledges: they are told in phases.
    var hasAcknowledgers = false
    /// The list of observers isn't empty.
    var hasObservers = false
    /// A subscription names this key exactly.
    var hasExactObservers = false
    /// The value, where it doesn't fit beside its key.
    private var outside = ByteBlock()
    /// What deletes it by itself, and why the last write was made, where there is any of it.
    var marks = LifetimeMarks()
    /// Who wrote the value; who deleted it, while that is owed to somebody; else `.none`. Kept by
    /// `ObservableTable`. Not an optional: that would take up eight bytes more.
    fileprivate var signedBy = AuthorHandle.none
    /// Who observes it; `.none` while nobody does. Kept by `ObservableTable`.
    fileprivate(set) var audience = AudienceHandle.none
    var cause: WriteCause = .none
    /// Subscriptions that are owed this key: they may have to be told that it is gone.
    var owedBy: Int32 = 0
    /// Where the subscription that was asked last has it among its `OwedKeys`: those that owe the
    /// same keys mostly have them at the same places.
    var owedPlace: Int32 = 0
    /// Without a value: the number of its last entry in the history, shortened.
    var lastEntry: UInt32 = 0
    /// Without a value: the last generation of the history that points here, 0 for none.
    var generation: UInt32 = 0

    /// The observable of a key, with room for a value of about `valueCount` bytes. `prefix` is the key as
    /// `EventEncoder.appendKeyPrefix` wrote it.
    init(key: Span<UInt8>, prefix: Span<UInt8>, height: Int, valueCount: Int) {
        let links = height * Self.linkBytes
        let start = links + prefix.count
        let isInPlace = valueCount > 0 && valueCount <= Self.inPlaceBytesMax
        memory = ByteBlock(count: isInPlace ? Self.blockBytes(for: start + valueCount) : start)
        memory.write(prefix, at: links)
        prefixCount = UInt16(prefix.count)
        keyCount = UInt16(key.count)
        self.height = UInt8(height)
        isReserved = Key.isReserved(key)
    }

    /// `,"key":"…","revision":`.
    @inline(__always) var keyPrefix: Span<UInt8> {
        @_lifetime(immortal)
        get { memory.kept[prefixStart..<valueStart] }
    }

    @inline(__always) var key: Span<UInt8> {
        @_lifetime(immortal)
        get {
            let start = prefixStart &+ Self.keyOffset
            return memory.kept[start..<start &+ Int(keyCount)]
        }
    }

    @inline(__always)
    func isNamed(_ key: Span<UInt8>) -> Bool {
        key.count == Int(keyCount) && memory.holds(key, at: prefixStart &+ Self.keyOffset)
    }

    /// What a write has to know before it is made. `isUnobserved` is said only where it is certain.
    @inline(__always)
    func standing(
        asOf generation: UInt64
    ) -> (revision: UInt64, isReserved: Bool, isUnobserved: Bool) {
        (revision, isReserved, isObserved(asOf: generation) == false)
    }

    /// The next key in order, on one level; kept by `KeyOrder`.
    @inline(__always)
    func link(_ level: Int) -> ObservableHandle {
        ObservableHandle(word: memory.word(at: level &* Self.linkBytes))
    }

    mutating func setLink(_ level: Int, _ next: ObservableHandle) {
        precondition(level < Int(height))
        memory.setWord(next.word, at: level * Self.linkBytes)
    }

    /// Whether anybody observes it; nil where the list is older than the patterns.
    @inline(__always)
    func isObserved(asOf generation: UInt64) -> Bool? {
        observersGeneration == generation ? hasObservers : nil
    }

    /// Who wrote the value; who deleted it, while that is owed to somebody.
    @inline(__always) var writer: AuthorHandle? { signedBy == .none ? nil : signedBy }
    @inline(__always) var hasValue: Bool { revision != 0 }
    @inline(__always) var isNeeded: Bool { hasValue || hasExactObservers || owedBy > 0 }

    /// The kept JSON; empty while there is none.
    @inline(__always) var value: Span<UInt8> {
        @_lifetime(immortal)
        get {
            if !outside.isEmpty { return outside.kept[..<Int(valueCount)] }
            return memory.kept[valueStart..<valueStart &+ Int(valueCount)]
        }
    }

    /// What all events of a write have in common. `by` is the writer's text.
    @inline(__always)
    @_lifetime(copy value, copy by)
    func tail(
        of event: Event,
        revision: UInt64,
        to value: Span<UInt8>,
        by: Span<UInt8>,
        _ cause: WriteCause,
        _ reason: EventReason?
    ) -> EventTail {
        EventTail(
            keyPrefix: keyPrefix,
            revision: revision,
            value: value,
            old: event == .emit ? Span() : self.value,
            by: by,
            cause: cause,
            reason: reason
        )
    }

    /// Reads something of each line of memory that the observable, its key and a small value take up,
    /// for the reading's sake.
    @inline(__always)
    func touch() -> UInt64 {
        let value = value
        guard !value.isEmpty else { return UInt64(generation) }
        let ends = value[0] &+ value[value.count / 2] &+ value[value.count &- 1]
        return UInt64(generation) &+ UInt64(ends)
    }

    /// What another value changes.
    struct Change: BitwiseCopyable {
        let isFirst: Bool
        let isReserved: Bool
        let hasMarks: Bool
        /// How much more the journal's record of it comes to, about.
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

    /// What the journal's record of it comes to beside key and value, about.
    private static let recordBytes = 96

    /// What the journal's record of it comes to, about; 0 without a value.
    var recordBytes: Int { hasValue ? Int(prefixCount) + Int(valueCount) + Self.recordBytes : 0 }

    /// What that grows by with another value.
    @inline(__always)
    func growth(to count: Int) -> Int {
        count &- Int(valueCount) &+ (hasValue ? 0 : Int(prefixCount) &+ Self.recordBytes)
    }

    /// What of it is counted for its writer's user, besides the writer's origin.
    var keptBytes: Int { Int(keyCount) + Int(valueCount) }

    /// Room that a smaller value keeps, however small it is.
    private static let keptRoomMax = 1_024

    /// Writes a value where it has to lie: beside the key if there is room, else by itself.
    @inline(never)
    private mutating func move(_ value: Span<UInt8>) {
        let (room, count) = (capacity, value.count)
        if count > room || (room > Self.keptRoomMax && count < room / 4) {
            let fits = count <= memory.count - valueStart
            outside = fits ? ByteBlock() : ByteBlock(count: Self.blockBytes(for: count))
        }
        if outside.isEmpty { memory.write(value, at: valueStart) } else { outside.write(value, at: 0) }
    }

    @inline(__always) private var prefixStart: Int { Int(height) &* Self.linkBytes }
    @inline(__always) private var valueStart: Int { prefixStart &+ Int(prefixCount) }
    @inline(__always) private var capacity: Int {
        outside.isEmpty ? memory.count &- valueStart : outside.count
    }

    /// The length of a block whose last part is a value: four bytes more at least, for the next value to be a
    /// little longer, as counters and prices are. Above that, what the system would round up to in any case:
    /// it hands out 8 bytes less than multiples of 16.
    private static func blockBytes(for count: Int) -> Int { (count + 11) & ~15 + 8 }
}

extension ObservableTable {
    /// Keeps a value, and who wrote it.
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

    /// Forgets a value. Who deleted it and why is kept while that is still owed to somebody.
    mutating func removeValue(
        of observable: ObservableHandle,
        cause: WriteCause,
        writer: AuthorHandle,
        _ authors: inout Authors
    ) {
        self[observable].removeValue(cause: cause)
        replaceWriter(of: observable, self[observable].owedBy > 0 ? writer : nil, &authors)
    }

    /// Who deleted it, for somebody who is to be told of that later.
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
        let made = audiences.insert(Audience())
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
}

extension Observable {
    private static var always: Invariants { Invariants(of: "Observable") }

    /// What one observable says of itself.
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
