// Why the hub refuses: off the path of good requests, so in words.

import PlugboardMemory
import PlugboardWire

extension Hub {
    static func excerpt(_ range: ByteRange, _ line: Span<UInt8>) -> String { range.excerpt(of: line) }

    /// Throws unless a key that has no observable yet may be written.
    static func checkWritable(_ request: Request, _ line: Span<UInt8>) throws(Refusal) {
        try checkKey(request.key, line)
        if Key.isReserved(request.key.bytes(of: line)) { throw reserved(request, line) }
    }

    /// The same, where the supervisor may also write what is its own.
    @inline(never)
    func checkNew(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        try Self.checkKey(request.key, line)
        if Key.isReserved(request.key.bytes(of: line)) { try checkOwn(request, line, session) }
    }

    static func checkKey(_ range: ByteRange, _ line: Span<UInt8>) throws(Refusal) {
        guard let fault = Key.fault(range.bytes(of: line)) else { return }
        let name = excerpt(range, line)
        let isPattern = Pattern.fault(range.bytes(of: line)) == nil
        let hint =
            isPattern
            ? "a pattern stands for many keys: \"keys \(name)\" lists them, \"subscribe \(name)\" tells their values"
            : "a key is words with dots between: cart.total"
        throw Refusal(.badKey, "\"\(name)\" is no key: \(fault.rawValue)", hint: hint, at: range.start)
    }

    static func checkPattern(_ range: ByteRange, _ line: Span<UInt8>) throws(Refusal) {
        guard let fault = Pattern.fault(range.bytes(of: line)) else { return }
        let message = "\"\(excerpt(range, line))\" is no pattern: \(fault.rawValue)"
        throw Refusal(
            .badPattern,
            message,
            hint: "patterns look like cart.total, cart.* and cart.**",
            at: range.start
        )
    }

    static func reserved(_ request: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "\"\(excerpt(request.key, line))\" is the broker's own: a token begins with $"
        return Refusal(.forbidden, message, at: request.key.start)
    }

    /// Throws, as if there were nothing, where a client may not see the key of a request.
    func checkSeen(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard sessions[session].isGuarded else { return }
        try Self.checkKey(request.key, line)
        guard sessions[session].authorize(.subscribe, request.key.bytes(of: line)) else {
            let message = "\"\(Self.excerpt(request.key, line))\" has no value"
            let who = sessions[session].clearance?.objection(.subscribe, request.key.bytes(of: line)).who
            let hint = "none that \(who ?? "the policy") lets this client see"
            throw Refusal(.notFound, message, hint: hint, at: request.key.start)
        }
    }

    mutating func notFound(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) -> Refusal {
        let message = "\"\(Self.excerpt(request.key, line))\" has no value"
        let hint = keyspace.hint(for: request.key.bytes(of: line), to: sessions[session].clearance)
        return Refusal(.notFound, message, hint: hint ?? "keys lists what there is", at: request.key.start)
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

    static func unknown(_ sub: borrowing ByteBuffer, _ request: Request) -> Refusal {
        let text = String(sub.bytes)
        var refusal = Refusal(
            .unknownSubscription,
            "there is no subscription \(text)",
            hint: "1 and \"1\" are different names",
            at: request.sub.start
        )
        refusal.sub = text
        return refusal
    }

    static func duplicate(_ sub: borrowing ByteBuffer, _ request: Request) -> Refusal {
        let text = String(sub.bytes)
        var refusal = Refusal(
            .duplicateSubscription,
            "subscription \(text) exists already",
            hint: "unsubscribe it first, or leave \"sub\" out",
            at: request.sub.start
        )
        refusal.sub = text
        return refusal
    }
}

extension ByteRange {
    /// What stands there in a line, as far as it fits a message.
    func excerpt(of line: Span<UInt8>) -> String {
        let bytes = bytes(of: line)
        let text = String(bytes[..<min(64, bytes.count)])
        return bytes.count > 64 ? text + "…" : text
    }
}
