// The author of a write: the text that every event about the write carries, and whether the client is still
// connected. Values outlive their writers' connections, so each author counts its references: clients,
// values, and runs of entries in the history. A write that names its origin has an author of its own, with the
// presence of its client. So the origin goes wherever the author goes, and writes without one cost nothing
// more.

import PlugboardMemory
import PlugboardWire

typealias AuthorHandle = Handle<Author>

/// The `,"by":"…"` of a client, encoded once, with `,"origin":"…"` if its write named one. A client that
/// changes its name gets another author with the same presence.
struct Author: ~Copyable, Checked {
    /// The text. For the journal, it ends with the user, if the user's kept bytes are counted.
    private let text: ByteBlock
    private let byCount: UInt32
    private let nameCount: UInt32
    fileprivate(set) var references: UInt32 = 1
    let presence: Liveness
    /// The key in `Authors.shared`; nil if it isn't there.
    fileprivate var identity: [UInt8]?

    fileprivate init(name: Span<UInt8>, origin: Span<UInt8> = Span(), presence: Liveness) {
        var buffer = ByteBuffer()
        EventEncoder.appendAuthor(name: name, to: &buffer)
        nameCount = UInt32(buffer.count - Self.nameOffset)
        if !origin.isEmpty { EventEncoder.appendOrigin(origin, to: &buffer) }
        byCount = UInt32(buffer.count)
        if let account = presence.account, let user = account.user, account.limits != .unlimited {
            buffer.append(#","user":"#)
            buffer.append(decimal: UInt64(user))
        }
        text = ByteBlock(buffer.bytes)
        self.presence = presence
    }

    @inline(__always) var by: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.bytes[..<Int(byCount)] }
    }

    var recorded: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.bytes }
    }

    /// The name in the text: JSON with its quotes.
    var name: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.bytes[Self.nameOffset..<nameEnd] }
    }
    private static let nameOffset = 6
    private var nameEnd: Int { Self.nameOffset + Int(nameCount) }

    /// The origin with its member's name, as events carry it; empty if there is none.
    var origin: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.bytes[nameEnd..<Int(byCount)] }
    }

    /// What an origin, given as JSON, adds to the text.
    static func bytes(of origin: Span<UInt8>) -> Int { origin.isEmpty ? 0 : originStartCount + origin.count }
    private static let originStartCount = 10

    var client: UInt64 { presence.client }
    var isLive: Bool { presence.isLive }
}

struct Authors: ~Copyable {
    private var all = Slab<Author>()
    /// Authors with an origin or of an earlier broker, by text, client and user, so that many keys share one. An author
    /// stays here as long as anything refers to it.
    private(set) var shared: [[UInt8]: AuthorHandle] = [:]

    subscript(author: AuthorHandle) -> Author {
        @inline(__always)
        _read { yield all[author] }
        @inline(__always)
        _modify { yield &all[author] }
    }

    /// Makes an author with one reference, the caller's. `origin` is JSON; empty for none.
    mutating func make(name: Span<UInt8>, origin: Span<UInt8> = Span(), presence: Liveness) -> AuthorHandle {
        all.insert(Author(name: name, origin: origin, presence: presence))
    }

    /// The author of the same client with an origin. The caller owns one reference.
    mutating func author(_ author: AuthorHandle, from origin: Span<UInt8>) -> AuthorHandle {
        let name = Array(all[author].name)
        return self.author(name.span, from: origin, all[author].presence)
    }

    /// The author with a name and an origin, both as JSON, of the client and the account of `presence`. The caller owns
    /// one reference.
    mutating func author(
        _ name: Span<UInt8>, from origin: Span<UInt8>, _ presence: Liveness
    ) -> AuthorHandle {
        // A text has no byte 0.
        var identity = Array(name) + Array(origin) + [0] + Array("\(presence.client)".utf8)
        if let user = presence.account?.user { identity += Array(" \(user)".utf8) }
        if let known = shared[identity] {
            retain(known)
            return known
        }
        let characters = JSONText.characters(name.count < 2 ? Span() : name[1..<(name.count - 1)])
        let author = make(name: characters.span, origin: origin, presence: presence)
        all[author].identity = identity
        shared[identity] = author
        return author
    }

    mutating func retain(_ author: AuthorHandle) {
        all[author].references += 1
    }

    mutating func release(_ author: AuthorHandle) {
        all[author].references -= 1
        guard all[author].references == 0 else { return }
        if let identity = all.remove(author).identity { shared[identity] = nil }
    }

    @inline(__always)
    func handle(inSlot slot: UInt32) -> AuthorHandle? { all.handle(inSlot: slot) }

    @inline(__always)
    @_lifetime(borrow self)
    func by(_ writer: AuthorHandle?) -> Span<UInt8> {
        guard let writer else { return Span() }
        return all[writer].by
    }

    /// The same, as the journal names it. A delete counts for no user, so it names none.
    @inline(__always)
    @_lifetime(borrow self)
    func recorded(_ writer: AuthorHandle?, isDelete: Bool = false) -> Span<UInt8> {
        guard let writer else { return Span() }
        return isDelete ? all[writer].by : all[writer].recorded
    }
}

extension Authors {
    func checkInvariants(_ found: [AuthorHandle: Int]) throws(BrokenInvariant) {
        for (author, count) in found {
            try Author.always.hold("who is referred to is there", all.contains(author))
            let (stated, name) = (Int(all[author].references), String(all[author].name))
            try Author.always.agree("it counts who refers to it", stated, count, of: name)
        }
        try Author.always.agree("nobody is kept whom nobody refers to", all.count, found.count)
        for (identity, author) in shared {
            let isThere = all.contains(author) && all[author].identity == identity
            try Author.always.hold("who is shared is known by its identity", isThere)
        }
    }
}

// Whether a client's connection still lives. What the client wrote asks it, and may outlive the connection by
// far. All authors of the client share it. It never becomes live again.

final class Liveness {
    /// The client's number; 0 is the broker itself, or a client of an earlier one.
    let client: UInt64
    let account: Account?
    private(set) var isLive: Bool

    init(client: UInt64, account: Account? = nil, isLive: Bool = true) {
        (self.client, self.account, self.isLive) = (client, account, isLive)
    }

    func end() {
        isLive = false
    }
}
