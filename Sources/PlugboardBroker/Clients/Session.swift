// A client as the hub knows it: its name, its subscriptions and what waits to be
// sent to it. It has no descriptor; the loop's `Connection` has.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias SessionHandle = Handle<Session>

/// One client. Owned by the `SessionTable`; its connection names it.
struct Session: ~Copyable {
    /// The client's number in this broker's life, from 1.
    let client: UInt64
    /// Which connection it belongs to.
    let slot: Int
    /// The process and the user at the other end.
    let peer: PeerIdentity
    /// Who it signs as; `.none` before it has written anything or has a name. Not an optional: that would
    /// take up eight bytes more.
    private var signedAs = AuthorHandle.none
    /// What it may do, and whose it is; nil: it is nobody's in particular and may do everything.
    var clearance: Clearance? {
        didSet { isGuarded = clearance != nil }
    }
    var outbox = Outbox()
    /// The line being handled, from 1.
    var line: UInt64 = 0
    var subscriptions = SubscriptionSet()
    /// A policy or a plugin's declaration says what it may do.
    private(set) var isGuarded = false
    /// In the list of sessions that have something to be sent.
    var isTouched = false
    /// It is among those of them that are served first.
    var isServedFirst = false
    /// Has too much unread, or is owed something that only waits for room: events for it
    /// are owed too, so that they stay in order.
    var isBehind = false {
        didSet { noteStalled() }
    }
    /// A reply waits for what is owed; the next request waits for the reply.
    var isHeld = false
    /// A request of it was put off; the next one waits for that.
    var isBusy = false
    /// Durable writes of it that wait for the disk.
    var awaitedWrites: UInt16 = 0
    /// When it connected, in milliseconds since 1970.
    let since: UInt64
    /// Bytes that it has been sent.
    var sent: UInt64 = 0
    /// Being closed: nothing more is queued for it. Why, once that is so.
    var farewell: Farewell? {
        didSet { noteStalled() }
    }
    /// Behind, being closed, or with an indirect subscription: each event's observers are asked.
    private var isStalled = false
    /// Subscriptions that have a filter, or something that waits.
    var indirectCount: Int32 = 0 {
        didSet { noteStalled() }
    }
    /// What there is to catch up with, while there is any.
    private(set) var catchup: Catchup?
    /// What it serves, asked and was asked, while there is any.
    private(set) var duties: Duties?
    /// `.none` where there is none.
    private var bequeathed = LegacyHandle.none

    init(client: UInt64, slot: Int, peer: PeerIdentity = .unknown, since: UInt64 = 0) {
        self.client = client
        self.slot = slot
        self.peer = peer
        self.since = since
    }

    /// Who it signs as, where it has written anything or has a name.
    @inline(__always) var signature: AuthorHandle? { signedAs == .none ? nil : signedAs }

    /// What is to be done when its connection ends, where there is anything.
    var legacy: LegacyHandle? {
        get { bequeathed == .none ? nil : bequeathed }
        set { bequeathed = newValue ?? .none }
    }

    private mutating func noteStalled() {
        isStalled = isBehind || farewell != nil || indirectCount > 0
    }

    /// Open, and reads its replies: more of its lines may be executed.
    @inline(__always)
    func mayGoOn(unreadMax: Int) -> Bool { isOpen && !isHeld && !isBusy && outbox.count <= unreadMax }

    /// Bytes that may still be queued for it.
    var room: Int { Limits.outboxBytesMax - outbox.count - (catchup?.deferred.count ?? 0) }

    /// Adds the client's name as JSON.
    func appendName(_ keyspace: borrowing Keyspace, to buffer: inout ByteBuffer) {
        if let signature { return buffer.append(keyspace.authors[signature].name) }
        buffer.append("\"#")
        buffer.append(decimal: client)
        buffer.append("\"")
    }

    @inline(__always) var isOpen: Bool { farewell == nil }

    /// What a write has to know of its writer, in one look.
    @inline(__always) var standing: (isOpen: Bool, isGuarded: Bool, author: AuthorHandle?) {
        (isOpen, isGuarded, signature)
    }

    /// Adds a line of the turn's log to what it is sent, where that is plain: it keeps up, the line
    /// follows on what it was told last in this turn, and there is not too much unread. What is held of earlier
    /// turns was counted with the first line of this one, and it is listed as one that has something to be sent
    /// since then.
    @inline(__always)
    mutating func extend(with line: ByteRange) -> Bool {
        keepsUp && outbox.freshCount &+ line.count <= Limits.highWaterBytes && outbox.extend(with: line)
    }

    /// Nothing is to be done before a reply is added to its own bytes.
    @inline(__always) var takesReplies: Bool {
        isTouched && outbox.sharedBytes == 0 && outbox.own.allocatedBytes > 0 && !isBehind
    }

    /// Open and not behind, and all that it observes is told plainly: so it can be told at once.
    @inline(__always) var keepsUp: Bool { !isStalled }

    /// Makes sure that there is a place for what is owed.
    @discardableResult
    mutating func makeCatchup() -> Catchup {
        if let catchup { return catchup }
        let made = Catchup()
        catchup = made
        return made
    }

    /// Has a reply wait for all that is owed up to a revision.
    mutating func putOff(_ reply: Span<UInt8>, until revision: UInt64) {
        makeCatchup()
        catchup?.deferred.append(reply)
        catchup?.deferredUntil = revision
        isHeld = true
    }

    /// The same for a reply that was written to its own bytes, from `start` on.
    mutating func putOffOwn(from start: Int, until revision: UInt64) {
        let reply = outbox.own.bytes[start...].kept
        putOff(reply, until: revision)
        outbox.own.truncate(to: start)
    }

    /// With too much unread it is behind: from now on it is owed.
    @inline(never)
    mutating func noteUnread() {
        let hasLeftOver = outbox.keptCount > Limits.highWaterBytes
        if hasLeftOver || outbox.count > Limits.outboxBytesMax - Limits.lineBytesMax { isBehind = true }
    }

    /// Gives that place up when nothing is owed.
    mutating func dropEmptyCatchup() {
        if catchup?.isEmpty == true { catchup = nil }
    }

    /// The place for what has to do with calls, made where there is none yet.
    mutating func makeDuties() -> Duties {
        if let duties { return duties }
        let made = Duties()
        duties = made
        return made
    }

    /// Gives that place up when nothing is left in it.
    mutating func dropEmptyDuties() {
        if duties?.isEmpty == true { duties = nil }
    }

    mutating func rename(_ name: Span<UInt8>, _ keyspace: inout Keyspace) {
        sign(as: keyspace.makeAuthor(name: name, presence: presence(keyspace)), &keyspace)
    }

    /// Whether that is what it calls itself.
    func isNamed(_ name: String, _ keyspace: borrowing Keyspace) -> Bool {
        guard let signature else { return false }
        var text = ByteBuffer()
        JSONText.append(name, to: &text)
        return keyspace.authors[signature].name.isEqual(to: text.bytes)
    }

    /// Who writes, as events say it. Made with the first write: most clients only observe.
    @inline(__always)
    mutating func author(_ keyspace: inout Keyspace) -> AuthorHandle { signature ?? makeAuthor(&keyspace) }

    /// Takes its name away: it is a number again.
    mutating func loseName(_ keyspace: inout Keyspace) {
        _ = makeAuthor(&keyspace)
    }

    /// The connection has ended: what it wrote says so from now on.
    func endPresence(_ keyspace: borrowing Keyspace) {
        if let signature { keyspace.authors[signature].presence.end() }
    }

    @inline(never)
    private mutating func makeAuthor(_ keyspace: inout Keyspace) -> AuthorHandle {
        let author = keyspace.makeAuthor(unnamed: presence(keyspace))
        sign(as: author, &keyspace)
        return author
    }

    /// Whatever the client is called, it is one presence.
    private func presence(_ keyspace: borrowing Keyspace) -> Presence {
        if let signature { return keyspace.authors[signature].presence }
        return Presence(client: client, account: clearance?.account)
    }

    private mutating func sign(as author: AuthorHandle, _ keyspace: inout Keyspace) {
        if let signature { keyspace.release(signature) }
        signedAs = author
    }
}

/// Why the broker ends a connection, as its last line says. One byte in each session.
enum Farewell: UInt8 {
    case slow, overlong, clients, stopping, goodbye
    /// Another broker takes the place of this one.
    case restarting
    /// Its user may not be here, or not any more.
    case forbidden
    /// It lost the right to see something, and had not read what it was sent before.
    case revoked
    /// Its user takes up too much.
    case quota
    /// Another client ended it.
    case disconnected
    /// The peer left; there is nobody to be told.
    case gone

    /// The stable name of the reason.
    var reason: StaticString {
        switch self {
        case .slow: "slow"
        case .overlong: "too_long"
        case .clients: "clients"
        case .stopping: "stopping"
        case .restarting: "restarting"
        case .goodbye: "goodbye"
        case .forbidden: "forbidden"
        case .revoked: "revoked"
        case .quota: "limit"
        case .disconnected: "disconnected"
        case .gone: "gone"
        }
    }

    /// The reason for a person.
    var message: String {
        switch self {
        case .slow: "more than \(Limits.owedKeysMax) keys were owed"
        case .overlong:
            "more than \(Limits.overlongLinesMax) lines in a row were over \(Limits.lineBytesMax) bytes"
        case .clients: "all \(Limits.clientsMax) connections are taken"
        case .stopping: "the broker is stopping"
        case .restarting: "the broker begins anew: connect again"
        case .goodbye: "as the client wished"
        case .forbidden:
            "this user is not admitted: the broker serves its own user, root and whom its policy names"
        case .revoked:
            "rights were taken from this client while it had lines to read: connect again"
        case .quota: "this user has come to a quota of the broker's --policy"
        case .disconnected: "a client has ended this connection"
        case .gone: "the client has left"
        }
    }
}
