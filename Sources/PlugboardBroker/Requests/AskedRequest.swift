// What each operation gets first: a request, its line, and the client that asked. The rooms that it needs
// follow as further parameters.

import PlugboardMemory
import PlugboardWire

/// A request that is executed now.
struct AskedRequest: ~Escapable {
    let request: Request
    let line: Span<UInt8>
    let session: SessionHandle

    @_lifetime(copy line)
    init(_ request: Request, _ line: Span<UInt8>, from session: SessionHandle) {
        (self.request, self.session) = (request, session)
        self.line = line
    }

    /// The decoded `key`.
    var key: Span<UInt8> {
        @_lifetime(copy self)
        get { request.key.bytes(of: line) }
    }
    /// The `id` as it was written.
    var id: Span<UInt8> {
        @_lifetime(copy self)
        get { request.id.bytes(of: line) }
    }
    /// `sub` as JSON.
    var sub: ByteBuffer {
        var text = ByteBuffer()
        let bytes = request.sub.bytes(of: line)
        if request.subIsInteger { text.append(bytes) } else { JSONText.append(bytes, to: &text) }
        return text
    }

    /// The subscription of a client with this `sub`.
    func subscription(
        of owner: SessionHandle,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable
    ) throws(Refusal) -> SubscriptionHandle {
        let sub = sub
        guard let found = matching.find(sub.bytes, in: sessions[owner].subscriptions) else {
            throw .unknown(sub, request)
        }
        return found
    }
}
