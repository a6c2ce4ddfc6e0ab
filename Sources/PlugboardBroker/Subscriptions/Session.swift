// A client as the hub knows it: its name, its subscriptions and what waits to be
// sent to it. It has no descriptor; the loop's `Connection` has.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias SessionReference = UnsafeMutablePointer<Session>

/// One client. Owned by its connection, lent to the hub.
struct Session: ~Copyable {
    /// The client's number in this broker's life, from 1.
    let client: UInt64
    /// Which connection it belongs to.
    let slot: Int
    /// The process and the user at the other end.
    let peer: PeerIdentity
    private var named: AuthorReference?
    /// What it may do, and whose it is; nil: it is nobody's in particular and may do everything.
    var clearance: Clearance?
    var outbox = Outbox()
    /// The line being handled, from 1.
    var line: UInt64 = 0
    var subscriptions = SubscriptionSet()
    /// In the list of sessions that have something to be sent.
    var isTouched = false
    /// Has too much unread, or is owed something that only waits for room: events for it
    /// are owed too, so that they stay in order.
    var isBehind = false {
        didSet { isStalled = isBehind || farewell != nil }
    }
    /// A reply waits for what is owed; the next request waits for the reply.
    var isHeld = false
    /// Durable writes of it that wait for the disk.
    var awaitedWrites: UInt16 = 0
    /// When it connected, in milliseconds since 1970.
    let since: UInt64
    /// Bytes that it has been sent.
    var sent: UInt64 = 0
    /// Being closed: nothing more is queued for it. Why, once that is so.
    var farewell: Farewell? {
        didSet { isStalled = isBehind || farewell != nil }
    }
    /// Behind or being closed, in one: each event's observers are asked.
    private var isStalled = false
    /// What there is to catch up with, while there is any.
    private(set) var catchup: CatchupReference?
    /// What it serves, asked and was asked, while there is any.
    private(set) var duties: DutiesReference?
    /// What is to be done when its connection ends, where there is anything.
    private(set) var legacy: LegacyReference?

    init(client: UInt64, slot: Int, peer: PeerIdentity = .unknown, since: UInt64 = 0) {
        self.client = client
        self.slot = slot
        self.peer = peer
        self.since = since
    }

    deinit {
        named.map(Author.release)
        catchup.map(Self.free)
        duties.map(Self.free)
        legacy.map(Legacy.free)
    }

    /// Who writes, as events say it. Made with the first write: most clients only observe.
    @inline(__always) var author: AuthorReference {
        mutating get { named ?? makeAuthor() }
    }

    /// Adds the client's name as JSON.
    func appendName(to buffer: inout ByteBuffer) {
        if let named { return buffer.append(named.pointee.name) }
        buffer.append("\"#")
        buffer.append(decimal: client)
        buffer.append("\"")
    }

    /// Whether it is this client that wrote something.
    func isAuthor(_ author: AuthorReference) -> Bool { author.pointee.client == client }

    @inline(__always) var isOpen: Bool { farewell == nil }
    /// Open, and not behind: it can be told at once.
    @inline(__always) var keepsUp: Bool { !isStalled }

    /// Makes sure that there is a place for what is owed.
    mutating func makeCatchup() {
        guard catchup == nil else { return }
        let made = CatchupReference.allocate(capacity: 1)
        made.initialize(to: Catchup())
        catchup = made
    }

    /// Gives that place up when nothing is owed.
    mutating func dropEmptyCatchup() {
        guard let catchup, catchup.pointee.isEmpty else { return }
        Self.free(catchup)
        self.catchup = nil
    }

    private static func free(_ catchup: CatchupReference) {
        catchup.deinitialize(count: 1)
        catchup.deallocate()
    }

    /// The place for what has to do with calls, made where there is none yet.
    mutating func makeDuties() -> DutiesReference {
        if let duties { return duties }
        let made = DutiesReference.allocate(capacity: 1)
        made.initialize(to: Duties())
        duties = made
        return made
    }

    /// Gives that place up when nothing is left in it.
    mutating func dropEmptyDuties() {
        guard let duties, duties.pointee.isEmpty else { return }
        Self.free(duties)
        self.duties = nil
    }

    private static func free(_ duties: DutiesReference) {
        duties.deinitialize(count: 1)
        duties.deallocate()
    }

    /// The place for what is to be done when its connection ends.
    mutating func makeLegacy() -> LegacyReference {
        if let legacy { return legacy }
        let made = Legacy.make()
        legacy = made
        return made
    }

    /// Gives that up, to the caller.
    mutating func takeLegacy() -> LegacyReference? {
        legacy.take()
    }

    mutating func rename(_ name: Span<UInt8>) {
        replaceAuthor { Author.make(name: name, presence: $0) }
    }

    /// Whether that is what it calls itself.
    func isNamed(_ name: String) -> Bool {
        guard let named else { return false }
        var text = ByteBuffer()
        JSONText.append(name, to: &text)
        return named.pointee.name.isEqual(to: text.bytes)
    }

    /// Takes its name away: it is a number again.
    mutating func loseName() {
        makeAuthor()
    }

    /// The connection has ended: what it wrote says so from now on.
    mutating func endPresence() {
        named?.pointee.presence.pointee.end()
    }

    @discardableResult
    private mutating func makeAuthor() -> AuthorReference {
        replaceAuthor(Author.makeUnnamed)
    }

    /// Whatever the client is called, it is one presence.
    @discardableResult
    private mutating func replaceAuthor(_ make: (PresenceReference) -> AuthorReference) -> AuthorReference {
        let presence = named?.pointee.presence ?? Presence.make(client: client, account: clearance?.account)
        let author = make(presence)
        if let named { Author.release(named) } else { Presence.release(presence) }
        named = author
        return author
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
        case .gone: "the client has left"
        }
    }
}

extension Session {
    /// Who it signs as, where it has written anything.
    var signature: AuthorReference? { named }
}
