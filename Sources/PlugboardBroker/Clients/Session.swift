// A client as the hub knows it: its name, its subscriptions and what waits to be sent to it. It has no
// descriptor; the loop's `Connection` has that.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

typealias SessionHandle = Handle<Session>

/// One client. Owned by `SessionTable`; its connection holds the handle. What each event looks at comes first, so
/// that little memory is fetched to tell very many observers.
struct Session: ~Copyable, Checked {
    /// It is open and not behind, and all its subscriptions are direct. So events go to it at once.
    private(set) var keepsUp = true
    /// It is in the list of sessions that have something to be sent.
    var isTouched = false
    var awaitedWrites: UInt16 = 0
    var outbox = Outbox()
    /// The client's number, from 1, unique in this broker's life.
    let client: UInt64
    let peer: PeerIdentity
    /// `.none` until it has a name or has written something. An optional would take eight bytes more.
    private var signedAs = AuthorHandle.none
    /// The client's rights and its user's account. If nil, it may do everything, and nothing is counted.
    var grant: Grant?
    var line: UInt64 = 0
    var subscriptions = SubscriptionSet()
    /// It is among those of the list that are served first.
    var isServedFirst = false
    /// It has read too little, or owed events wait for room in its outbox. New events are then owed, too, so
    /// that the order holds.
    var isBehind = false {
        didSet { updateKeepsUp() }
    }
    /// It has closed its sending half, so it can neither answer calls nor acknowledge.
    var isMute = false
    /// What the loop is to do with its connection when it is served next.
    var ending: ConnectionEnding?
    /// Nil while it is open. Nothing more is queued for a client that is being closed.
    var closeReason: CloseReason? {
        didSet { updateKeepsUp() }
    }
    /// How many of its subscriptions have a filter or a backlog.
    var indirectCount: Int32 = 0 {
        didSet { updateKeepsUp() }
    }
    /// How many of the bytes that wait for it are charged.
    var waiting = WaitingBytes()
    let since: UInt64
    var sent: UInt64 = 0
    /// What waits for it besides its outbox; nil if nothing does.
    private(set) var backlog: SessionBacklog?
    /// What it serves, its calls, and the calls that it was sent; nil if there are none.
    private(set) var calls: SessionCalls?
    private var heldLease = LeaseHandle.none

    init(client: UInt64, peer: PeerIdentity = .unknown, since: UInt64 = 0) {
        (self.client, self.peer, self.since) = (client, peer, since)
    }

    /// Its author, if it has a name or has written something.
    @inline(__always) var signature: AuthorHandle? { signedAs == .none ? nil : signedAs }

    var lease: LeaseHandle? {
        get { heldLease == .none ? nil : heldLease }
        set { heldLease = newValue ?? .none }
    }

    private mutating func updateKeepsUp() {
        keepsUp = !isBehind && closeReason == nil && indirectCount == 0
    }

    /// It is open and reads its replies, so more of its lines may be executed.
    @inline(__always)
    func mayGoOn(unreadMax: Int) -> Bool { isOpen && !isHeld && !isBusy && outbox.count <= unreadMax }

    var room: Int { Limits.outboxBytesMax - outbox.count - (backlog?.deferred.count ?? 0) }

    func appendName(_ keyspace: borrowing Keyspace, to buffer: inout ByteBuffer) {
        if let signature { return buffer.append(keyspace.authors[signature].name) }
        buffer.append("\"#")
        buffer.append(decimal: client)
        buffer.append("\"")
    }

    func appendSource(_ keyspace: borrowing Keyspace, to buffer: inout ByteBuffer) {
        buffer.append(member: "client", client, isFirst: true)
        buffer.append(#","name":"#)
        appendName(keyspace, to: &buffer)
    }

    func appendIdentity(_ keyspace: borrowing Keyspace, to buffer: inout ByteBuffer) {
        appendSource(keyspace, to: &buffer)
        if peer.process > 0 { buffer.append(member: "pid", UInt64(peer.process)) }
    }

    @inline(__always) var isOpen: Bool { closeReason == nil }

    /// It has said goodbye, and is sent the answers to what it asked before.
    var isParting: Bool { closeReason == .goodbye && backlog?.goodbye != nil }

    var takesAnswers: Bool { isOpen || isParting }

    /// It waits for no answer, to a call or a durable write. Until then it needs its connection.
    var isAnswered: Bool { calls == nil && awaitedWrites == 0 }

    @inline(__always) var isGuarded: Bool { grant != nil }

    /// One of its requests was put off, and the next one waits for it.
    var isBusy: Bool { backlog?.request != nil }

    /// A reply waits for owed events, and the next request waits for the reply.
    var isHeld: Bool { backlog?.deferred.hasOwn == true }

    @inline(__always) var standing: (isOpen: Bool, isGuarded: Bool, author: AuthorHandle?) {
        (isOpen, isGuarded, signature)
    }

    /// Extends what is sent by a line of the turn's log. Returns false if that takes more than one step: the
    /// client doesn't keep up, the line doesn't follow the last one that it was told in this turn, or too
    /// much is unread. The first line of the turn has counted what was left of earlier turns, and has listed
    /// the session for sending.
    @inline(__always)
    mutating func extend(with line: ByteRange) -> Bool {
        keepsUp && outbox.extend(with: line, freshMax: Limits.highWaterBytes)
    }

    /// A reply can be appended to its own bytes without further steps.
    @inline(__always) var takesReplies: Bool {
        isTouched && outbox.sharedBytes == 0 && outbox.own.allocatedBytes > 0 && !isBehind
    }

    @discardableResult
    mutating func makeBacklog() -> SessionBacklog { backlog.orMake(SessionBacklog()) }

    /// It is owed more keys. Returns how many it is owed by now.
    mutating func countOwedKeys(_ more: Int) -> Int {
        let backlog = makeBacklog()
        backlog.owedCount += more
        return backlog.owedCount
    }

    /// Holds a line back until all that is owed up to a revision was sent.
    mutating func putOff(_ line: Span<UInt8>, until revision: UInt64) {
        makeBacklog().deferred.append(line, until: revision, isOwn: false)
    }

    /// The same for a reply that is already in its own bytes, from `start` on.
    mutating func putOffOwn(from start: Int, until revision: UInt64) {
        makeBacklog().deferred.append(outbox.own.bytes[start...], until: revision, isOwn: true)
        outbox.own.truncate(to: start)
    }

    /// Marks it as behind if too much is unread. Then its events are owed. Call it when its outbox has grown.
    mutating func checkUnread() {
        let hasLeftOver = outbox.keptCount > Limits.highWaterBytes
        if hasLeftOver || outbox.count > Limits.outboxBytesMax - Limits.lineBytesMax { isBehind = true }
    }

    mutating func dropEmptyBacklog() {
        if backlog?.isEmpty == true { backlog = nil }
    }

    mutating func makeCalls() -> SessionCalls { calls.orMake(SessionCalls()) }

    mutating func dropEmptyCalls() {
        if calls?.isEmpty == true { calls = nil }
    }

    mutating func makeLease(_ keyspace: inout Keyspace) -> LeaseHandle {
        if let lease { return lease }
        let made = keyspace.lifetimes.leases.insert(SessionLease())
        lease = made
        return made
    }

    mutating func rename(_ name: Span<UInt8>, _ keyspace: inout Keyspace) {
        sign(as: keyspace.authors.make(name: name, presence: presence(keyspace)), &keyspace)
    }

    func isNamed(_ name: String, _ keyspace: borrowing Keyspace) -> Bool {
        guard let signature else { return false }
        var text = ByteBuffer()
        JSONText.append(name, to: &text)
        return keyspace.authors[signature].name.isEqual(to: text.bytes)
    }

    /// The author of its writes. Made with the first write, because most clients only observe.
    @inline(__always)
    mutating func author(_ keyspace: inout Keyspace) -> AuthorHandle { signature ?? makeAuthor(&keyspace) }

    /// Takes its name away. Then it is called by its number.
    mutating func loseName(_ keyspace: inout Keyspace) {
        _ = makeAuthor(&keyspace)
    }

    /// The connection has ended. From now on, its values show that.
    func endPresence(_ keyspace: borrowing Keyspace) {
        if let signature { keyspace.authors[signature].presence.end() }
    }

    @inline(never)
    private mutating func makeAuthor(_ keyspace: inout Keyspace) -> AuthorHandle {
        let name = Array("#\(client)".utf8)
        let author = keyspace.authors.make(name: name.span, presence: presence(keyspace))
        sign(as: author, &keyspace)
        return author
    }

    private func presence(_ keyspace: borrowing Keyspace) -> Liveness {
        if let signature { return keyspace.authors[signature].presence }
        return Liveness(client: client, account: grant?.account)
    }

    private mutating func sign(as author: AuthorHandle, _ keyspace: inout Keyspace) {
        if let signature { keyspace.authors.release(signature) }
        signedAs = author
    }
}

struct Writer: BitwiseCopyable {
    let session: SessionHandle
    let isGuarded: Bool
    let author: AuthorHandle?
}

enum ConnectionEnding {
    /// It gets its last line in place of all that waits to be read.
    case dismissed
    /// The process that it belonged to has ended, but another one may hold it. Its lines that have come still count.
    case orphaned
}

/// The close reason: why the broker ends a connection, as `bye` has it. One byte in each session.
enum CloseReason: String {
    case slow, clients, stopping, goodbye
    case overlong = "too_long"
    /// Another broker takes the place of this one.
    case restarting
    /// Its user may not connect, or not any more.
    case forbidden
    /// It lost the right to see something while lines for it were unread.
    case revoked
    case quota = "limit"
    case disconnected
    /// The peer has left, so nobody can be told.
    case gone

    var message: String {
        switch self {
        case .slow: "more than \(Limits.owedKeysMax) keys were owed"
        case .overlong:
            "more than \(Limits.overlongLinesMax) lines in a row were over \(Limits.lineBytesMax) bytes"
        case .clients: "all \(Limits.clientsMax) connections are taken"
        case .stopping: "the broker is stopping"
        case .restarting: "the broker begins anew; connect again"
        case .goodbye: "as the client wished"
        case .forbidden:
            "this user is not admitted: the broker serves its own user, root and whom its policy names"
        case .revoked:
            "rights were taken from this client while events waited for it; connect again"
        case .quota: "this user has come to a quota of the broker's --policy"
        case .disconnected: "a client has ended this connection"
        case .gone: "the client has left"
        }
    }
}

// All sessions, found by their handles. Requests that name another client by its number are rare, so these look at
// all; a table would cost memory for every client.

/// The sessions of open connections.
typealias SessionTable = Slab<Session>

extension SessionTable {
    func find(client: UInt64) -> SessionHandle? {
        handles.first { self[$0].client == client && self[$0].isOpen }
    }

    /// A client by its number. It must be of the same user, unless root asks.
    func find(_ client: UInt64, for session: SessionHandle) throws(Refusal) -> SessionHandle {
        guard let other = find(client: client) else { throw .noClient(client) }
        guard self[other].peer.user == self[session].peer.user || self[session].peer.user == 0 else {
            throw Refusal(.forbidden, "client \(client) is another user's")
        }
        return other
    }

    /// Takes a session's own bytes out, so that they can grow while the hub is used. Call `giveBack` afterwards.
    @inline(__always)
    mutating func takeOwn(of session: SessionHandle) -> ByteBuffer {
        var own = ByteBuffer()
        swap(&own, &self[session].outbox.own)
        return own
    }

    @inline(__always)
    mutating func giveBack(_ own: consuming ByteBuffer, to session: SessionHandle) {
        self[session].outbox.own = own
    }

    mutating func remove(_ session: SessionHandle, _ keyspace: inout Keyspace) {
        if let author = remove(session).signature { keyspace.authors.release(author) }
    }
}

extension Optional where Wrapped: AnyObject {
    /// What is there; otherwise something new, which stays.
    mutating func orMake(_ new: @autoclosure () -> Wrapped) -> Wrapped {
        if let self { return self }
        let made = new()
        self = made
        return made
    }
}

extension Slab where Element: ~Copyable {
    /// All handles, in the order of their slots.
    var handles: [Handle<Element>] {
        var found: [Handle<Element>] = []
        found.reserveCapacity(count)
        forEach { found.append($0) }
        return found
    }
}
