// Who wrote something, as the text that every event about it carries, and whether they
// are still there. Values outlive their writers' connections, so it is counted by
// whoever refers to it.

import PlugboardMemory
import PlugboardWire

typealias AuthorReference = UnsafeMutablePointer<Author>

/// The `,"by":"…"` of a client, encoded once. A client that takes another name signs as
/// another author with the same presence.
struct Author {
    private let text: UnsafeMutableRawBufferPointer
    /// The same for the journal: behind it the user, where what that keeps is counted.
    private let whole: UnsafeMutableRawBufferPointer
    var recorded: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: whole) }
    }
    private var references = 1
    /// Shared with the client's other names.
    let presence: PresenceReference
    /// The generation of the history that keeps it; see `History`.
    var generation: UInt32 = 0

    /// The encoded text.
    @inline(__always) var by: Span<UInt8> {
        @_lifetime(immortal)
        get { Span(kept: text) }
    }

    /// The name in it, as JSON with its quotes.
    var name: Span<UInt8> {
        @_lifetime(immortal)
        get { by[Self.nameOffset...] }
    }
    private static let nameOffset = 6

    /// The number of the client.
    var client: UInt64 { presence.pointee.client }
    /// Whether its connection still lives.
    var isLive: Bool { presence.pointee.isLive }

    /// Makes an author with one reference, the caller's; the presence gets one more.
    static func make(name: Span<UInt8>, presence: PresenceReference) -> AuthorReference {
        var buffer = ByteBuffer()
        EventEncoder.appendAuthor(name: name, to: &buffer)
        let count = buffer.count
        if let account = presence.pointee.account, account.quota != .unlimited {
            buffer.append(#","user":"#)
            buffer.append(decimal: UInt64(account.user))
        }
        let text = UnsafeMutableRawBufferPointer.copy(of: buffer.bytes)
        Presence.retain(presence)
        let reference = AuthorReference.allocate(capacity: 1)
        reference.initialize(to: Author(text: text, byCount: count, presence: presence))
        return reference
    }

    /// Makes the author of a client that has not given its name: `#7`.
    static func makeUnnamed(_ presence: PresenceReference) -> AuthorReference {
        "#\(presence.pointee.client)".withBytes { make(name: $0, presence: presence) }
    }

    static func retain(_ author: AuthorReference) {
        author.pointee.references += 1
    }

    static func release(_ author: AuthorReference) {
        author.pointee.references -= 1
        guard author.pointee.references == 0 else { return }
        author.pointee.text.deallocate()
        Presence.release(author.pointee.presence)
        author.deallocate()
    }

    private init(text: UnsafeMutableRawBufferPointer, byCount: Int, presence: PresenceReference) {
        self.text = UnsafeMutableRawBufferPointer(rebasing: text[..<byCount])
        whole = text
        self.presence = presence
    }
}

extension Author {
    /// Each author is referred to as often as it says. `found` counts those who do.
    static func checkInvariants(_ found: [AuthorReference: Int]) throws(BrokenInvariant) {
        let always = Invariants(of: "Author")
        for (author, count) in found {
            let name = String(author.pointee.name)
            try always.agree("it counts who refers to it", author.pointee.references, count, of: name)
        }
    }
}
