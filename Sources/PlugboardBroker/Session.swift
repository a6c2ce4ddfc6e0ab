// A client as the hub knows it: its name, its subscriptions and what waits to be
// sent to it. It has no descriptor; the loop's `Connection` has.

import PlugboardPosix
import PlugboardWire

typealias SessionReference = UnsafeMutablePointer<Session>

/// One client. Owned by its connection, lent to the hub.
struct Session: ~Copyable {
    /// The client's number in this broker's life, from 1.
    let client: UInt64
    /// Which connection it belongs to.
    let slot: Int
    var author: AuthorReference
    var outbox = Outbox()
    /// The line being handled, from 1.
    var line: UInt64 = 0
    var subscriptions = SubscriptionSet()
    /// In the list of sessions that have something to be sent.
    var isTouched = false
    /// Being closed: nothing more is queued for it. Why, once that is so.
    var farewell: Farewell?

    init(client: UInt64, slot: Int) {
        self.client = client
        self.slot = slot
        author = Author.makeUnnamed(client: client)
    }

    deinit {
        Author.release(author)
    }

    @inline(__always) var isOpen: Bool { farewell == nil }

    mutating func rename(_ name: UnsafeRawBufferPointer) {
        Author.release(author)
        author = Author.make(name: name)
    }
}

/// Why the broker ends a connection, as its last line says.
struct Farewell {
    let reason: StaticString
    let message: String

    static let slow = Farewell(
        reason: "slow",
        message: "more than \(Limits.outboxBytesMax) bytes of events waited unread"
    )
    static let overlong = Farewell(
        reason: "too_long",
        message: "more than \(Limits.overlongLinesMax) lines in a row were over \(Limits.lineBytesMax) bytes"
    )
    static let clients = Farewell(
        reason: "clients",
        message: "all \(Limits.clientsMax) connections are taken"
    )
    static let stopping = Farewell(reason: "stopping", message: "the broker is stopping")
}
