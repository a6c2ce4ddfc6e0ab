// Refusals in words. Nothing here is on the path of good requests, so words may cost something.

import PlugboardMemory
import PlugboardWire

extension Key {
    static func check(_ range: ByteRange, _ line: Span<UInt8>) throws(Refusal) {
        guard let fault = fault(range.bytes(of: line)) else { return }
        let name = range.excerpt(of: line)
        let isPattern = Pattern.fault(range.bytes(of: line)) == nil
        let hint =
            isPattern
            ? "a pattern stands for many keys: \"keys \(name)\" lists them, \"subscribe \(name)\" tells their values"
            : "a key is words with dots between: cart.total"
        throw Refusal(.badKey, "\"\(name)\" is no key: \(fault.rawValue)", hint: hint, at: range.start)
    }

    static func checkWritable(_ request: Request, _ line: Span<UInt8>) throws(Refusal) {
        try check(request.key, line)
        if isReserved(request.key.bytes(of: line)) { throw .reserved(request, line) }
    }
}

extension Pattern {
    /// Matches every key except the broker's own.
    static let everything: StaticString = "**"

    static func check(_ range: ByteRange, _ line: Span<UInt8>) throws(Refusal) {
        guard let fault = fault(range.bytes(of: line)) else { return }
        let message = "\"\(range.excerpt(of: line))\" is no pattern: \(fault.rawValue)"
        let hint = "patterns look like cart.total, cart.* and cart.**"
        throw Refusal(.badPattern, message, hint: hint, at: range.start)
    }
}

extension Refusal {
    static func steps(_ verb: String, these patterns: String = "this pattern") -> Refusal {
        let steps = "finding who \(verb) a key could take more than \(Limits.patternStepsMax) steps"
        let hint = "patterns whose * stand at ever different places take many; ** takes one"
        return Refusal(.limit, "with \(patterns), \(steps)", hint: hint)
    }

    static func reserved(_ request: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "\"\(request.key.excerpt(of: line))\" is the broker's own: a token begins with $"
        return Refusal(.forbidden, message, at: request.key.start)
    }

    static func noValue(_ request: Request, _ line: Span<UInt8>, hint: String) -> Refusal {
        let message = "\"\(request.key.excerpt(of: line))\" has no value"
        return Refusal(.notFound, message, hint: hint, at: request.key.start)
    }

    /// The key has no value. The hint names keys that may have been meant.
    static func notFound(
        _ request: Request, _ line: Span<UInt8>, for grant: Grant?, _ keyspace: inout Keyspace
    ) -> Refusal {
        let hint = keyspace.hint(for: request.key.bytes(of: line), to: grant)
        return .noValue(request, line, hint: hint ?? "keys lists what there is")
    }

    static func conflict(_ request: Request, _ current: UInt64) -> Refusal {
        let message =
            current == 0
            ? "the key has no value, so it is not at revision \(request.ifRevision)"
            : "the key is at revision \(current), not \(request.ifRevision)"
        var refusal = Refusal(.conflict, message, hint: "get the key and try again with its revision")
        refusal.revision = current
        return refusal
    }

    /// The same refusal, pointing at the number or the part that a write names.
    func ofPart(_ request: Request, at revision: UInt64) -> Refusal {
        var refusal = self
        refusal.offset = request.has(.field) ? request.field.start : request.key.start
        if code == .conflict { refusal.revision = revision }
        return refusal
    }

    static func unknown(_ sub: borrowing ByteBuffer, _ request: Request) -> Refusal {
        let (sub, hint) = (String(sub.bytes), "1 and \"1\" are different names")
        var refusal = Refusal(
            .unknownSubscription, "there is no subscription \(sub)", hint: hint, at: request.sub.start)
        refusal.sub = sub
        return refusal
    }

    static func duplicate(_ sub: borrowing ByteBuffer, _ request: Request) -> Refusal {
        let (sub, hint) = (String(sub.bytes), "unsubscribe it first, or leave \"sub\" out")
        let message = "subscription \(sub) exists already"
        var refusal = Refusal(.duplicateSubscription, message, hint: hint, at: request.sub.start)
        refusal.sub = sub
        return refusal
    }

    static func noClient(_ client: UInt64) -> Refusal {
        Refusal(.notFound, "there is no client \(client)", hint: "keys $broker.clients.* lists them")
    }

    static func noProvider(_ request: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "nobody serves \"\(request.key.excerpt(of: line))\""
        return Refusal(.noProvider, message, at: request.key.start)
    }

    /// A client answered a call that it wasn't sent.
    static func unknownCall(_ name: ByteRange, _ line: Span<UInt8>) -> Refusal {
        let message = "this client was not asked \"\(name.excerpt(of: line))\""
        return Refusal(.notFound, message, hint: "a call's event names it in \"call\"", at: name.start)
    }

    static let providerGone = Refusal(
        .providerGone,
        "the server's connection ended before it answered",
        hint: "whether it did what it was asked is not known"
    )

    /// Of a call that waited for a plugin: nobody was asked.
    static let supervisorGone = Refusal(
        .noProvider, "the supervisor that would start its plugin has gone: nobody was asked"
    )

    static let unreadAnswer = Refusal(
        .limit, "there is an answer, but up to \(Limits.outboxBytesMax) bytes wait unread before it"
    )
}

extension ByteRange {
    func excerpt(of line: Span<UInt8>) -> String {
        let bytes = bytes(of: line)
        let text = String(bytes[..<min(64, bytes.count)])
        return bytes.count > 64 ? text + "…" : text
    }
}
