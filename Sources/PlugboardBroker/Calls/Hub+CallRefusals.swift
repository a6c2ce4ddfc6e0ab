// Why there is no answer to a call: nobody to ask, too much asked already, or too much
// waiting unread at either end.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Bytes that a call's or an answer's line may have beside what it carries.
    static let wrappingBytes = 1_024

    /// Bytes that may still be queued for a client.
    func room(of session: SessionHandle) -> Int {
        let deferred = sessions[session].catchup?.deferred.count ?? 0
        return Limits.outboxBytesMax - sessions[session].outbox.count - deferred
    }

    /// Throws unless a client may ask one call more, and its server can be sent it.
    func checkRoom(
        for request: Request,
        from caller: SessionHandle,
        to server: SessionHandle
    ) throws(Refusal) {
        let waiting = sessions[caller].duties?.made.count ?? 0
        guard waiting < Limits.callsMax else {
            throw Refusal(.limit, "a client has at most \(Limits.callsMax) calls waiting at a time")
        }
        guard room(of: server) >= request.value.count + Self.wrappingBytes else {
            let message =
                "the server has up to \(Limits.outboxBytesMax) bytes to read before it can take more"
            throw Refusal(.limit, message, hint: "try again later", at: request.key.start)
        }
    }

    /// The number that a call's name spells, as the broker spells it.
    static func callNumber(_ name: Span<UInt8>) -> UInt64? {
        guard (1...16).contains(name.count), name[0] != UInt8(ascii: "0") else { return nil }
        var number: UInt64 = 0
        for index in name.indices {
            let digit = name[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + UInt64(digit)
        }
        return number
    }

    static func noProvider(_ request: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "nobody serves \"\(excerpt(request.key, line))\""
        return Refusal(.noProvider, message, at: request.key.start)
    }

    func unknownCall(_ line: Span<UInt8>) -> Refusal {
        let range = decoder.options.call
        let message = "this client was not asked \"\(Self.excerpt(range, line))\""
        return Refusal(.notFound, message, hint: "a call's event names it in \"call\"", at: range.start)
    }

    static let providerGone = Refusal(
        .providerGone,
        "the server's connection ended before it answered",
        hint: "whether it did what it was asked is not known"
    )

    static let unreadAnswer = Refusal(
        .limit,
        "there is an answer, but up to \(Limits.outboxBytesMax) bytes wait unread before it"
    )
}
