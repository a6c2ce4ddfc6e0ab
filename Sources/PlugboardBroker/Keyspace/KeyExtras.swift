// What few keys have besides a short value: observers, a long value, a cause, and what ends them. So it isn't part
// of each observable. Extras are there as long as something is in them; owned by the `ObservableTable`.

import PlugboardMemory
import PlugboardWire

typealias ExtrasHandle = Handle<KeyExtras>

/// The extras of one key.
struct KeyExtras: ~Copyable {
    /// All observers that match, patterns included, in the order in which they are told. True for the key's
    /// `observersGeneration`.
    var observers = List<Recipient>()
    /// The subscriptions that name this key exactly.
    var exact = List<SubscriptionHandle>()
    /// A value that has no room beside its key. Its memory may stay for the next one.
    var long = ByteBlock()
    /// What will end the value, and why the broker made the last write.
    var marks = LifetimeMarks()
    /// What the last write named as its cause.
    var cause = WriteCause.none

    var isEmpty: Bool { observers.isEmpty && exact.isEmpty && hasOnlyObservers }
    /// Nothing in it has to do with the value, as for most keys that are observed.
    @inline(__always) var hasOnlyObservers: Bool { long.isEmpty && marks.isEmpty && cause == .none }

    /// A block up to this size is kept, however small the next value is.
    private static let keptRoomMax = 1_024

    /// Stores a value as the last one, if there is room but not far too much.
    mutating func setLong(_ value: Span<UInt8>) {
        let room = long.count
        if value.count > room || (room > Self.keptRoomMax && value.count < room / 4) {
            long = ByteBlock(count: Observable.blockBytes(for: value.count))
        }
        long.write(value, at: 0)
    }

    /// The next value has room beside its key.
    mutating func dropLong() {
        if long.count > Self.keptRoomMax { long = ByteBlock() }
    }
}

extension ObservableTable {
    /// The list of those who observe a key, as it is known.
    @_lifetime(borrow self)
    func observers(of observable: ObservableHandle) -> Span<Recipient> {
        let extras = extras(of: observable)
        return extras == .none ? Span() : self.extras[extras].observers.span
    }

    /// The subscriptions that name a key exactly.
    @_lifetime(borrow self)
    func exactObservers(of observable: ObservableHandle) -> Span<SubscriptionHandle> {
        let extras = extras(of: observable)
        return extras == .none ? Span() : self.extras[extras].exact.span
    }

    /// Its extras; `.none` if it has none.
    @inline(__always)
    func extras(of observable: ObservableHandle) -> ExtrasHandle {
        extras.handle(inSlot: all[observable].extras) ?? .none
    }

    /// The extras of a key, made if there are none.
    mutating func makeExtras(of observable: ObservableHandle) -> ExtrasHandle {
        if let made = extras.handle(inSlot: all[observable].extras) { return made }
        let made = extras.insert(KeyExtras())
        all[observable].extras = made.slot
        return made
    }

    /// Changes the extras of a key if it has some or needs some, and removes them if nothing is left in them.
    mutating func change(
        _ observable: ObservableHandle,
        isNeeded: Bool,
        _ body: (inout KeyExtras) -> Void
    ) {
        if !isNeeded, all[observable].extras == 0 { return }
        body(&extras[makeExtras(of: observable)])
        removeEmptyExtras(of: observable)
    }

    /// Removes the extras of a key if nothing is in them any more.
    mutating func removeEmptyExtras(of observable: ObservableHandle) {
        guard let empty = extras.handle(inSlot: all[observable].extras), extras[empty].isEmpty else { return }
        _ = extras.remove(empty)
        all[observable].extras = 0
    }

    /// Forgets the list of those who observe a key.
    mutating func removeObservers(of observable: ObservableHandle) {
        all[observable].hasObservers = false
        change(observable, isNeeded: false) { $0.observers.releaseMemory() }
    }

    /// A value that has no room beside its key.
    @_lifetime(borrow self)
    func longValue(of observable: ObservableHandle) -> Span<UInt8> {
        extras[extras(of: observable)].long.bytes[..<Int(all[observable].valueCount)]
    }

    /// What the last write named as its cause.
    func cause(of observable: ObservableHandle) -> WriteCause {
        extras.handle(inSlot: all[observable].extras).map { extras[$0].cause } ?? .none
    }

    /// A value that has become short leaves its memory, unless that is small.
    mutating func setCause(_ cause: WriteCause, of observable: ObservableHandle) {
        let isLong = all[observable].isLong
        change(observable, isNeeded: cause.isNamed) {
            $0.cause = cause
            if !isLong { $0.dropLong() }
        }
    }

    /// What will end the value, and why the broker made the last write.
    func marks(of observable: ObservableHandle) -> LifetimeMarks {
        extras.handle(inSlot: all[observable].extras).map { extras[$0].marks } ?? LifetimeMarks()
    }

    mutating func set(_ reason: EventReason?, of observable: ObservableHandle) {
        change(observable, isNeeded: reason != nil) { $0.marks.reason = reason }
    }

    mutating func set(bond place: Int?, of observable: ObservableHandle) {
        change(observable, isNeeded: place != nil) { $0.marks.bond = place }
    }
}

extension Span<Recipient> {
    /// The subscriptions alone, for code that changes the list meanwhile.
    var subscriptions: [SubscriptionHandle] { indices.map { self[$0].subscription } }
}
