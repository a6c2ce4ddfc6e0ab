// What an operation is handed first: a request, the line that it was read from, and who asked. Everything else
// that it needs are the rooms that it is handed behind this.

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

    /// The decoded text of `key`.
    var key: Span<UInt8> {
        @_lifetime(copy self)
        get { request.key.bytes(of: line) }
    }
    /// The `id` as written.
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

    /// The subscription of a client that it names.
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
